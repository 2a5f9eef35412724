import { useState, type ReactNode } from 'react';
import { ActionButton } from '../interface/action-button.tsx';
import { ConfirmDialog, type Question } from '../interface/confirm-dialog.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { shownRecord } from './access-api.ts';
import { SecretDialog, type Secret } from './secret-dialog.tsx';

export interface CredentialSectionProps {
  id: string;
  title: string;
  intro: string;
  /** Default 2. As a page of its own it has 1. */
  level?: HeadingLevel | undefined;
  action?: { text: string; act: () => void; missingRule?: string | undefined; reason?: string | undefined };
  failure: unknown;
  /** Where they are read. */
  path: string;
  children: ReactNode;
}

export type HeadingLevel = 1 | 2;

/** The user's own credentials of one kind. */
export function CredentialSection({
  id,
  title,
  intro,
  level = 2,
  action,
  failure,
  path,
  children,
}: CredentialSectionProps) {
  const Heading = `h${level}` as const;
  return (
    <section aria-labelledby={id}>
      <div className={level === 1 ? 'page-head' : 'section-head'}>
        <Heading id={id}>{title}</Heading>
        <SnippetAction request={shownRecord(path)} />
        {action === undefined ? undefined : (
          <ActionButton onAction={action.act} missingRule={action.missingRule} reason={action.reason}>
            {action.text}
          </ActionButton>
        )}
      </div>
      <p>{intro}</p>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {children}
    </section>
  );
}

export interface Dialogs {
  ask: (question: Question) => void;
  open: (dialog: ReactNode) => void;
  showSecret: (secret: Secret) => void;
  close: () => void;
}

/** One dialog at a time, and what shows it. */
export function useDialogs(): [dialogs: Dialogs, shown: ReactNode] {
  const [shown, setShown] = useState<ReactNode>(undefined);
  const close = (): void => setShown(undefined);
  const dialogs: Dialogs = {
    ask: (question) => setShown(<ConfirmDialog question={question} onClose={close} />),
    open: setShown,
    showSecret: (secret) => setShown(<SecretDialog secret={secret} onClose={close} />),
    close,
  };
  return [dialogs, shown];
}

/** The dialog with the secret is in the place of the form. */
export const secretFollows = (): void => undefined;
