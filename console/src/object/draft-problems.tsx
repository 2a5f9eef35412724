import { StatusError } from '@svc/client';
import { FailureNote } from '../interface/failure-note.tsx';
import { WarningNotes } from '../interface/warning-notes.tsx';
import { texts } from '../texts/texts.ts';

/** Why the server refused a draft, and what it warned of. */
export function DraftProblems({ failure, warnings }: { failure: unknown; warnings: readonly string[] }) {
  return (
    <>
      {failure === undefined ? undefined : (
        <FailureNote failure={failure} title={failure instanceof StatusError ? texts.editor.causes : texts.failed} />
      )}
      <WarningNotes warnings={warnings} />
    </>
  );
}
