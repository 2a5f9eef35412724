import { useState, type ReactNode } from 'react';
import { FailureNote } from './failure-note.tsx';
import { PageDialog } from './page-dialog.tsx';
import { texts } from '../texts/texts.ts';

export interface Question {
  title: string;
  /** Words, or what else explains it. */
  text: ReactNode;
  action: string;
  act: () => Promise<unknown>;
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog({ question, onClose }: { question: Question; onClose: () => void }) {
  const { title, text, action, act } = question;
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const confirm = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    try {
      await act();
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <PageDialog title={title} onClose={onClose}>
      {typeof text === 'string' ? <p>{text}</p> : text}
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      <div className="buttons">
        <button type="button" className="button danger" aria-disabled={isBusy} onClick={() => void confirm()}>
          {action}
        </button>
        <button type="button" className="button plain" onClick={onClose}>
          {texts.cancel}
        </button>
      </div>
    </PageDialog>
  );
}
