import { useId, useRef, useState } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { texts } from '../texts/texts.ts';
import { curlText } from './curl-text.ts';
import { sdkText } from './sdk-text.ts';
import { shownSize, type ShownRequest } from './shown-request.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './snippet.css';

interface SnippetDialogProps {
  requests: readonly ShownRequest[];
  onClose: () => void;
}

export default function SnippetDialog({ requests, onClose }: SnippetDialogProps) {
  return (
    <PageDialog title={texts.snippet.title} onClose={onClose} className="wide">
      <p>
        {requests.some((each) => 'query' in each && each.token === 'access')
          ? texts.snippet.accessToken
          : texts.snippet.token}{' '}
        {requests.some((each) => 'counts' in each)
          ? texts.snippet.counts
          : requests.some((each) => 'model' in each && each.name === undefined)
            ? texts.snippet.page(shownSize)
            : undefined}
      </p>
      <Snippets requests={requests} />
      <div className="buttons">
        <button type="button" className="button plain" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </PageDialog>
  );
}

function Snippets({ requests }: { requests: readonly ShownRequest[] }) {
  try {
    return (
      <>
        <Snippet name={texts.snippet.curl} text={curlText(requests, location.origin)} />
        <Snippet name={texts.snippet.sdk} text={sdkText(requests, location.origin)} />
      </>
    );
  } catch (error) {
    // The URL may name a field that no selector can name.
    return <FailureNote failure={error} />;
  }
}

function Snippet({ name, text }: { name: string; text: string }) {
  const id = useId();
  const place = useRef<HTMLPreElement>(null);
  const [note, setNote] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setNote(texts.snippet.copied);
    } catch {
      // A page without TLS has no clipboard, and a person may refuse it.
      getSelection()?.selectAllChildren(place.current!);
      setNote(texts.snippet.marked);
    }
  };
  return (
    <section aria-labelledby={id} className="snippet">
      <div className="snippet-head">
        <h3 id={id}>{name}</h3>
        <span role="status">{note}</span>
        <button
          type="button"
          className="button plain"
          aria-label={texts.snippet.copy(name)}
          onClick={() => void copy()}
        >
          {texts.copy}
        </button>
      </div>
      <pre ref={place} tabIndex={0} role="group" aria-labelledby={id}>
        {text}
      </pre>
    </section>
  );
}
