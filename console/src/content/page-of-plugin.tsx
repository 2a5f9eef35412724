import { lazy, Suspense, useState } from 'react';
import { FramePage } from '../frame/frame-page.tsx';
import { usePluginPages, type PluginPage } from '../frame/plugin-pages.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { texts } from '../texts/texts.ts';

const PageContent = lazy(() => import('./page-content.tsx'));

/** A page of a plugin. It stays when its plugin stops: what somebody has typed is not lost. */
export default function PageOfPlugin({ name }: { name: string }) {
  const { value: pages, failure } = usePluginPages();
  const current = pages?.find((each) => each.name === name);
  const [last, setLast] = useState<PluginPage | undefined>(undefined);
  if (current !== undefined && current !== last) setLast(current);
  const page = current ?? last;
  const title = page?.title ?? name;
  useTitle(title);
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {pages === undefined && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {pages !== undefined && current === undefined ? (
        <p role="alert" className="note warning">
          {page === undefined ? texts.frame.unknown(name) : texts.frame.stopped}
        </p>
      ) : undefined}
      {page === undefined ? undefined : page.content === undefined ? (
        <FramePage page={page} />
      ) : (
        <Suspense fallback={<p role="status">{texts.loading}</p>}>
          <PageContent page={name} content={page.content} />
        </Suspense>
      )}
    </>
  );
}
