import { useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { texts } from '../texts/texts.ts';
import { ownValue } from './field-path.ts';
import { useFormActions, useFormFact } from './form-context.ts';
import type { FormField } from './form-field.ts';
import { unfinishedKeyName } from './unfinished-texts.ts';

interface MapKeyProps {
  /** An entry of a map. */
  field: FormField;
  onRename: (from: string, to: string) => void;
}

/** Renames the key of an entry in its place. As everywhere in the form, the draft follows each key that is typed. */
export function MapKey({ field, onRename }: MapKeyProps) {
  const { get, setUnfinished } = useFormActions();
  const { id, name, path } = field;
  const part = unfinishedKeyName(field);
  const waiting = useFormFact(({ unfinished }) => unfinished.get(part));
  /** The name that it had when the renaming began. */
  const [first, setFirst] = useState(() => (waiting === undefined ? undefined : name));
  const input = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const faultId = useId();
  const isTaken = (key: string): boolean => ownValue(get(path.slice(0, -1)), key) !== undefined;
  const begin = (): void => {
    flushSync(() => setFirst(name));
    input.current?.select();
  };
  const end = (): void => {
    flushSync(() => setFirst(undefined));
    button.current?.focus();
  };
  const change = (next: string): void => {
    const fault = next === '' ? texts.form.keyNeeded : next !== name && isTaken(next) ? texts.form.keyTaken : undefined;
    setUnfinished(part, fault === undefined ? undefined : { text: next, fault });
    if (fault === undefined && next !== name) onRename(name, next);
  };
  const giveUp = (): void => {
    setUnfinished(part, undefined);
    if (first !== undefined && first !== name && !isTaken(first)) onRename(name, first);
    end();
  };
  if (first === undefined)
    return (
      <button
        ref={button}
        type="button"
        className="form-action form-rename-action"
        aria-label={texts.form.renameField(id)}
        onClick={begin}
      >
        {texts.form.rename}
      </button>
    );
  return (
    <span className="form-rename">
      <input
        ref={input}
        aria-label={texts.form.keyOfEntry(id)}
        aria-invalid={waiting !== undefined}
        aria-describedby={faultId}
        autoComplete="off"
        spellCheck={false}
        value={waiting?.text ?? name}
        onChange={(event) => change(event.target.value)}
        onBlur={() => {
          if (waiting === undefined) setFirst(undefined);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') giveUp();
          if (event.key !== 'Enter' || waiting !== undefined) return;
          // The button that has the focus then would take the same key.
          event.preventDefault();
          end();
        }}
      />
      <span id={faultId} className="field-fault">
        {waiting?.fault}
      </span>
    </span>
  );
}
