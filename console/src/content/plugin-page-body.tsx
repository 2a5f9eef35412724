import { FramePage } from '../frame/frame-page.tsx';
import { frameObjectOf, type TargetObject } from '../frame/target-object.ts';
import type { ShownPage } from '../frame/use-plugin-page.ts';
import { FailureNote } from '../interface/failure-note.tsx';
import { lazy } from '../interface/lazy.tsx';
import { texts } from '../texts/texts.ts';

const PageContent = lazy(() => import('./page-content.tsx'));

interface PluginPageBodyProps {
  shown: ShownPage;
  /** Whose tab it is. */
  object?: TargetObject | undefined;
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
        <FramePage page={page} object={object === undefined ? undefined : frameObjectOf(object)} hasPlace={hasPlace} />
      ) : (
        <PageContent page={page} content={page.content} object={object} />
      )}
    </>
  );
}
