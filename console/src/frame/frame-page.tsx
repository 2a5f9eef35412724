import { useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { FailureNote } from '../interface/failure-note.tsx';
import { useUnsaved } from '../interface/unsaved.ts';
import { useTitle } from '../interface/use-title.ts';
import { texts } from '../texts/texts.ts';
import { PluginFrame, type FrameFault } from './plugin-frame.tsx';
import { usePluginPages, type PluginPage } from './plugin-pages.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './frame.css';

/** A page of a plugin. It stays when its plugin stops: what somebody has typed is not lost. */
export default function FramePage({ name }: { name: string }) {
  const { value: pages, failure } = usePluginPages();
  const page = pages?.find((each) => each.name === name);
  const [shown, setShown] = useState<PluginPage | undefined>(undefined);
  const [opened, setOpened] = useState(0);
  const [fault, setFault] = useState<FrameFault | undefined>(undefined);
  const [isUnsaved, setUnsaved] = useState(false);
  const [params, setParams] = useSearchParams();
  useUnsaved(isUnsaved);
  useTitle((page ?? shown)?.title ?? name);

  const open = (next: PluginPage): void => {
    setShown(next);
    setOpened((count) => count + 1);
    setFault(undefined);
    setUnsaved(false);
  };
  const isNewer = page?.url !== undefined && page.url !== shown?.url;
  useEffect(() => {
    if (page !== undefined && isNewer && !isUnsaved) open(page);
  }, [page, isNewer, isUnsaved]);

  const title = (page ?? shown)?.title ?? name;
  const isFirst = shown === undefined;
  return (
    <>
      <div className="page-head">
        <h1>{title}</h1>
      </div>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {pages === undefined && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {pages !== undefined && page === undefined ? (
        <p role="alert" className="note warning">
          {isFirst ? texts.frame.unknown(name) : texts.frame.stopped}
        </p>
      ) : undefined}
      {page !== undefined && isNewer && isUnsaved ? (
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
          <button type="button" className="button plain" onClick={() => open(page ?? shown)}>
            {texts.frame.again}
          </button>
        </div>
      ) : undefined}
      {shown?.url !== undefined && fault === undefined ? (
        <FrameOnceServed
          key={opened}
          page={shown}
          url={shown.url}
          place={params.get('at') ?? ''}
          onPlace={(at) => setParams(at === '' ? {} : { at })}
          onUnsaved={setUnsaved}
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
