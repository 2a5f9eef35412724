import { useTitle } from '../interface/use-title.ts';
import type { PagePlace } from '../frame/plugin-pages.ts';
import { usePluginPage } from '../frame/use-plugin-page.ts';
import { PluginPageBody } from './plugin-page-body.tsx';

/** A page of a plugin in a page of its own, of the console or the user center. */
export default function PageOfPlugin({ name, place }: { name: string; place: PagePlace }) {
  const shown = usePluginPage(name, place);
  const title = shown.page?.title ?? name;
  useTitle(title);
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
      </div>
      <PluginPageBody shown={shown} hasPlace />
    </>
  );
}
