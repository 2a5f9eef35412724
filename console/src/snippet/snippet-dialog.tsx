import { useId, useRef, useState } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { texts } from '../texts/texts.ts';
import { curlText } from './curl-text.ts';
import { sdkText } from './sdk-text.ts';
import { shownSize, type ShownRequest } from './shown-request.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './snippet.css';

export default function SnippetDialog({ request, onClose }: { request: ShownRequest; onClose: () => void }) {
  return (
    <PageDialog title={texts.snippet.title} onClose={onClose} className="wide">
      <p>
        {texts.snippet.token} {request.name === undefined ? texts.snippet.page(shownSize) : undefined}
      </p>
      <Snippets request={request} />
      <div className="buttons">
        <button type="button" className="button plain" onClick={onClose}>
          {texts.close}
        </button>
      </div>
    </PageDialog>
  );
}

function Snippets({ request }: { request: ShownRequest }) {
  try {
    return (
      <>
        <Snippet name={texts.snippet.curl} text={curlText(request, location.origin)} />
        <Snippet name={texts.snippet.sdk} text={sdkText(request, location.origin)} />
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
