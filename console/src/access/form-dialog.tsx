import { StatusError } from '@svc/client';
import { useEffect, useId, useRef, useState, type FormEvent } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { texts } from '../texts/texts.ts';

export interface DialogField {
  /** As the server names it in a refusal. */
  name: string;
  label: string;
  /** Default: a line of text. `time` has minutes, in the time of the browser. */
  kind?: 'text' | 'email' | 'password' | 'lines' | 'time' | 'flag' | readonly FormChoice[];
  hint?: string;
  isRequired?: boolean;
  value?: string;
  /** Are these the names that can be typed? */
  suggestions?: readonly string[];
}

export interface FormChoice {
  value: string;
  label: string;
}

export type FormValues = Readonly<Record<string, string>>;

interface FormDialogProps {
  title: string;
  submit: string;
  intro?: string;
  fields: readonly DialogField[];
  /** What it throws is shown, at the field that it names. */
  onSubmit: (values: FormValues) => Promise<void>;
  onClose: () => void;
  /** After `onSubmit`. Default: `onClose`. */
  onDone?: () => void;
}

/** A form over the page. What was typed is lost only by Cancel. */
export function FormDialog({ title, submit, intro, fields, onSubmit, onClose, onDone = onClose }: FormDialogProps) {
  const form = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState<FormValues>(() =>
    Object.fromEntries(fields.map(({ name, value = '' }) => [name, value])),
  );
  const [isChanged, setChanged] = useState(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true], input, select, textarea')?.focus();
  }, [failure]);

  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      await onSubmit(values);
      onDone();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  const causes = failure instanceof StatusError ? (failure.details?.causes ?? []) : [];
  const ofField = (name: string): string =>
    causes
      .filter(({ field }) => field === name || field?.startsWith(`${name}[`))
      .map(({ message }) => message)
      .join(' ');
  const isPlaced = causes.length > 0 && causes.every(({ field = '' }) => fields.some(({ name }) => isOf(field, name)));
  return (
    <PageDialog title={title} onClose={onClose} isDismissable={!isChanged}>
      {intro === undefined ? undefined : <p>{intro}</p>}
      {failure === undefined || isPlaced ? undefined : <FailureNote failure={failure} />}
      <form ref={form} className="record-form" onSubmit={(event) => void send(event)}>
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            value={values[field.name]!}
            fault={ofField(field.name)}
            onChange={(value) => {
              setChanged(true);
              setValues((before) => ({ ...before, [field.name]: value }));
            }}
          />
        ))}
        <div className="buttons">
          <button type="submit" className="button primary" aria-disabled={isBusy}>
            {submit}
          </button>
          <button type="button" className="button plain" onClick={onClose}>
            {texts.cancel}
          </button>
        </div>
      </form>
    </PageDialog>
  );
}

const isOf = (field: string, name: string): boolean => field === name || field.startsWith(`${name}[`);

interface FieldInputProps {
  field: DialogField;
  value: string;
  fault: string;
  onChange: (value: string) => void;
}

function FieldInput({ field, value, fault, onChange }: FieldInputProps) {
  const id = useId();
  const { label, kind = 'text', hint, isRequired = false, suggestions } = field;
  const shared = {
    id,
    required: isRequired,
    'aria-invalid': fault !== '',
    'aria-describedby': fault === '' && hint === undefined ? undefined : `${id}-note`,
  };
  if (kind === 'flag')
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value !== ''}
          onChange={({ target }) => onChange(target.checked ? 'true' : '')}
        />
        {label}
      </label>
    );
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {typeof kind === 'object' ? (
        <select {...shared} value={value} onChange={({ target }) => onChange(target.value)}>
          {kind.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      ) : kind === 'lines' ? (
        <textarea {...shared} rows={3} value={value} onChange={({ target }) => onChange(target.value)} />
      ) : (
        <input
          {...shared}
          type={kind === 'time' ? 'datetime-local' : kind}
          autoComplete={kind === 'password' ? 'new-password' : 'off'}
          list={suggestions === undefined ? undefined : `${id}-list`}
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
      {suggestions === undefined ? undefined : (
        <datalist id={`${id}-list`}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {fault === '' && hint === undefined ? undefined : (
        <span id={`${id}-note`} className={fault === '' ? 'hint' : 'field-fault'}>
          {fault === '' ? hint : fault}
        </span>
      )}
    </div>
  );
}

/** What `datetime-local` takes, in the time of the browser. */
export function localTime(timestamp: string | null): string {
  if (timestamp === null) return '';
  const date = new Date(timestamp);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Null for an empty text. */
export function timestampOf(local: string): string | null {
  return local === '' ? null : new Date(local).toISOString();
}

/** Names that are separated by commas or lines. */
export function namesOf(text: string): string[] {
  return text
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
