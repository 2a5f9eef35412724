import { useId } from 'react';
import { usePluginPage } from '../frame/use-plugin-page.ts';
import { PluginPageBody } from './plugin-page-body.tsx';

/** A page of a plugin as a part of the overview. */
export default function OverviewPart({ name, title }: { name: string; title: string }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <PluginPageBody shown={usePluginPage(name, 'overview')} />
    </section>
  );
}
