import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { useUnsaved } from '../interface/unsaved.ts';
import { texts } from '../texts/texts.ts';
import type { FrameObject } from '@svc/client/page';
import { PluginFrame, type FrameFault } from './plugin-frame.tsx';
import type { PluginPage } from './plugin-pages.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './frame.css';

interface FramePageProps {
  page: PluginPage;
  /** Whose tab it is. */
  object?: FrameObject | undefined;
  /** What the user has chosen for an action. */
  objects?: readonly FrameObject[] | undefined;
  /** May the frame have a place in the address of the console? Default false. */
  hasPlace?: boolean;
  /** Would something be lost with the frame? */
  onUnsaved?: (isUnsaved: boolean) => void;
  /** The page has done its work. Default: it stays. */
  onClose?: (() => void) | undefined;
}

/** A page of a plugin in a frame. It stays as it is while something is not saved. */
export function FramePage({ page, object, objects, hasPlace = false, onUnsaved, onClose }: FramePageProps) {
  const [shown, setShown] = useState<PluginPage | undefined>(undefined);
  const [opened, setOpened] = useState(0);
  const [fault, setFault] = useState<FrameFault | undefined>(undefined);
  const [isUnsaved, setUnsaved] = useState(false);
  const [params, setParams] = useSearchParams();
  useUnsaved(isUnsaved);
  useEffect(() => onUnsaved?.(isUnsaved), [isUnsaved, onUnsaved]);

  const open = (next: PluginPage): void => {
    setShown(next);
    setOpened((count) => count + 1);
    setFault(undefined);
    setUnsaved(false);
  };
  const isNewer = page.url !== undefined && page.url !== shown?.url;
  useEffect(() => {
    if (isNewer && !isUnsaved) open(page);
  }, [page, isNewer, isUnsaved]);

  return (
    <>
      {isNewer && isUnsaved ? (
        <p role="status" className="note warning">
          {texts.frame.newer}{' '}
          <button type="button" className="button plain" onClick={() => open(page)}>
            {texts.frame.showNewer}
          </button>
        </p>
      ) : undefined}
      {fault !== undefined && shown !== undefined ? (
        <div role="alert" className="note failure">
          <p>{texts.frame.faults[fault]}</p>
          <button type="button" className="button plain" onClick={() => open(page)}>
            {texts.frame.again}
          </button>
        </div>
      ) : undefined}
      {shown?.url !== undefined && fault === undefined ? (
        <FrameOnceServed
          key={opened}
          page={shown}
          url={shown.url}
          object={object}
          objects={objects}
          place={hasPlace ? (params.get('at') ?? '') : ''}
          onPlace={(at) => (hasPlace ? setParams(at === '' ? {} : { at }) : undefined)}
          onUnsaved={setUnsaved}
          onClose={onClose}
          onFault={(next) => {
            setFault(next);
            setUnsaved(false);
          }}
        />
      ) : undefined}
    </>
  );
}

const maxTries = 20;
const pauseMs = 500;

/** Its plugin may be on its way up: a frame would show the refusal, and could not be asked again. */
function FrameOnceServed(props: Parameters<typeof PluginFrame>[0]) {
  const { url } = props;
  const [state, setState] = useState<'waiting' | 'served' | 'missing'>('waiting');
  useEffect(() => {
    const end = new AbortController();
    const wait = async (): Promise<void> => {
      for (let tries = 0; tries < maxTries && !end.signal.aborted; tries += 1) {
        const answer = await fetch(url, { method: 'HEAD', signal: end.signal }).catch(() => undefined);
        if (answer?.ok === true) return setState('served');
        await new Promise((resolve) => {
          setTimeout(resolve, pauseMs);
        });
      }
      if (!end.signal.aborted) setState('missing');
    };
    void wait();
    return () => end.abort();
  }, [url]);
  if (state === 'waiting') return <p role="status">{texts.loading}</p>;
  if (state === 'served') return <PluginFrame {...props} />;
  return (
    <p role="alert" className="note failure">
      {texts.frame.missing}
    </p>
  );
}
