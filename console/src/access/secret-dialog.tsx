import { useRef, useState } from 'react';
import { PageDialog } from '../interface/page-dialog.tsx';
import { texts } from '../texts/texts.ts';

export interface Secret {
  title: string;
  /** What goes with the secret and is not secret: the id of a key. */
  facts?: readonly (readonly [name: string, value: string])[];
  text: string;
}

/** Shows a secret once: it is in no address and no storage, and gone with the dialog. */
export function SecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const { title, facts = [], text } = secret;
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // The browser does not permit it here; the text is selected.
    }
  };
  return (
    <PageDialog title={title} onClose={onClose} isDismissable={false}>
      <p className="note warning">{texts.access.secret.once}</p>
      <dl className="facts-list">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
      <div className="secret">
        <input ref={field} readOnly aria-label={texts.access.secret.label} value={text} />
        <button type="button" className="button primary" onClick={() => void copy()}>
          {texts.access.secret.copy}
        </button>
      </div>
      <p role="status">{isCopied ? texts.access.secret.copied : ''}</p>
      <div className="buttons">
        <button type="button" className="button plain" onClick={onClose}>
          {texts.access.secret.done}
        </button>
      </div>
    </PageDialog>
  );
}
