import { useState } from 'react';
import { usePluginPages, type PluginPage } from '../frame/plugin-pages.ts';
import { lazy } from '../interface/lazy.tsx';

const OverviewPart = lazy(() => import('../content/overview-part.tsx'), null);

type Part = Pick<PluginPage, 'name' | 'title'>;

/** What plugins add to the overview. A part stays when its plugin stops: what somebody has typed is not lost. */
export function OverviewParts() {
  const { value: pages } = usePluginPages('overview');
  const [parts, setParts] = useState<readonly Part[]>([]);
  const next = pages === undefined ? parts : withGone(pages, parts);
  if (namesOf(next) !== namesOf(parts)) setParts(next);
  return next.map(({ name, title }) => <OverviewPart key={name} name={name} title={title} />);
}

/** The current parts in their order, and those that are gone in the places where they were. */
function withGone(current: readonly Part[], before: readonly Part[]): readonly Part[] {
  const all = [...current];
  for (const [at, part] of before.entries())
    if (!current.some(({ name }) => name === part.name)) all.splice(at, 0, part);
  return all;
}

function namesOf(parts: readonly Part[]): string {
  return parts.map(({ name }) => name).join(' ');
}
