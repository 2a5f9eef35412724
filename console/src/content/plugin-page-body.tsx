import type { FrameObject } from '@svc/client/page';
import { useState } from 'react';
import { FramePage } from '../frame/frame-page.tsx';
import { usePluginPages, type PagePlace, type PluginPage } from '../frame/plugin-pages.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { lazy } from '../interface/lazy.tsx';
import { texts } from '../texts/texts.ts';

const PageContent = lazy(() => import('./page-content.tsx'));

interface ShownPage {
  name: string;
  /** As it was last, if its plugin has stopped. */
  page: PluginPage | undefined;
  state: 'loading' | 'there' | 'gone';
  failure: unknown;
}

/** It stays when its plugin stops: what somebody has typed is not lost. */
export function usePluginPage(name: string, place: PagePlace): ShownPage {
  const { value: pages, failure } = usePluginPages(place);
  const current = pages?.find((each) => each.name === name);
  const [last, setLast] = useState<PluginPage | undefined>(undefined);
  if (current !== undefined && current !== last) setLast(current);
  const state = current !== undefined ? 'there' : pages === undefined ? 'loading' : 'gone';
  return { name, page: current ?? last, state, failure };
}

interface PluginPageBodyProps {
  shown: ShownPage;
  /** Whose tab it is. */
  object?: FrameObject | undefined;
  /** May a frame have a place in the address of the console? Default false. */
  hasPlace?: boolean;
}

/** What a page of a plugin shows, or why it does not. */
export function PluginPageBody({ shown, object, hasPlace = false }: PluginPageBodyProps) {
  const { name, page, state, failure } = shown;
  return (
    <>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {state === 'loading' && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {state === 'gone' ? (
        <p role="alert" className="note warning">
          {page === undefined ? texts.frame.unknown(name) : texts.frame.stopped}
        </p>
      ) : undefined}
      {page === undefined ? undefined : page.content === undefined ? (
        <FramePage page={page} object={object} hasPlace={hasPlace} />
      ) : (
        <PageContent page={name} content={page.content} object={object} />
      )}
    </>
  );
}
