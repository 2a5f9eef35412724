import { lazy, Suspense } from 'react';
import { usePluginPages } from '../frame/plugin-pages.ts';

const OverviewPart = lazy(() => import('../content/overview-part.tsx'));

/** What plugins add to the overview. */
export function OverviewParts() {
  const { value: pages = [] } = usePluginPages('overview');
  return (
    <Suspense>
      {pages.map(({ name, title }) => (
        <OverviewPart key={name} name={name} title={title} />
      ))}
    </Suspense>
  );
}
