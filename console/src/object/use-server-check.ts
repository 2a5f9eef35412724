import { StatusError, type StatusCause } from '@svc/client';
import { useEffect, useRef, useState } from 'react';
import { texts } from '../texts/texts.ts';
import type { EditorDraft } from './editor-draft.ts';

/** What the server says of a draft. Until the next answer it is that of the draft before. */
export interface ServerCheck {
  state: 'none' | 'accepted' | 'refused';
  causes: readonly StatusCause[];
}

const unchecked: ServerCheck = { state: 'none', causes: [] };
/** After the last change. */
const delayMs = 300;

/**
 * Asks the server about a draft while a person types: one question at a time, about the newest draft. `draft` is
 * undefined where there is nothing to ask.
 */
export function useServerCheck(
  draft: EditorDraft | undefined,
  ask: (signal: AbortSignal) => Promise<unknown>,
): ServerCheck {
  const [check, setCheck] = useState(unchecked);
  const current = useRef(ask);
  useEffect(() => {
    current.current = ask;
  });
  useEffect(() => {
    if (draft === undefined) {
      setCheck(unchecked);
      return undefined;
    }
    const end = new AbortController();
    const run = async (): Promise<void> => {
      try {
        await current.current(end.signal);
        if (!end.signal.aborted) setCheck({ state: 'accepted', causes: [] });
      } catch (error) {
        if (!end.signal.aborted) setCheck(checkOf(error));
      }
    };
    const timer = setTimeout(() => void run(), delayMs);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [draft]);
  return check;
}

function checkOf(error: unknown): ServerCheck {
  const causes = causesOf(error);
  return causes.length === 0 ? unchecked : { state: 'refused', causes };
}

/** What the server has against an object, by field. That it is not the newest one, or a lost connection, is no cause. */
export function causesOf(error: unknown): readonly StatusCause[] {
  if (!(error instanceof StatusError)) return [];
  const causes = (error.details?.causes ?? []).filter(({ field }) => field !== undefined);
  if (causes.length > 0) return causes;
  const { reason, message } = error;
  if (reason === 'AlreadyExists') return [{ reason: 'FieldValueDuplicate', field: 'metadata.name', message }];
  return reason === 'Invalid' || reason === 'BadRequest' ? [{ reason: 'FieldValueInvalid', message }] : [];
}

/** What a page says of a draft. */
export function draftNote({
  isChanged,
  unfinished,
  check,
}: {
  isChanged: boolean;
  unfinished: number;
  check: ServerCheck;
}): string {
  if (unfinished > 0) return texts.form.unfinished;
  if (!isChanged) return texts.editor.unchanged;
  return check.state === 'accepted'
    ? texts.form.accepted
    : check.state === 'refused'
      ? texts.form.refused(check.causes.length)
      : '';
}
