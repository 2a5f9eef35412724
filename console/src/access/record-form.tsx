import { StatusError } from '@svc/client';
import { useEffect, useId, useRef, useState, type FormEvent } from 'react';
import { FailureNote } from '../interface/failure-note.tsx';
import { texts } from '../texts/texts.ts';

export interface RecordField {
  /** As the server names it in a refusal. */
  name: string;
  label: string;
  /** Default: a line of text. `time` has minutes, in the time of the browser. */
  kind?: 'text' | 'email' | 'password' | 'lines' | 'time' | 'flag' | readonly FormChoice[];
  hint?: string;
  isRequired?: boolean;
  value?: string;
  /** What a browser may fill in. Default: a new password, or nothing. */
  autoComplete?: string;
  /** Are these the names that can be typed? */
  suggestions?: readonly string[];
}

export interface FormChoice {
  value: string;
  label: string;
}

export type FormValues = Readonly<Record<string, string>>;

export interface RecordFormProps {
  submit: string;
  fields: readonly RecordField[];
  /** What it throws is shown, at the field that it names. */
  onSubmit: (values: FormValues) => Promise<void>;
  /** After `onSubmit`. */
  onDone: () => void;
  /** Does what was typed differ from what the form began with? */
  onChange?: (isChanged: boolean) => void;
  /** There is a button for it. */
  onCancel?: () => void;
  /** Whose passwords these are: the browser keeps them together. */
  username?: string;
  /** Default false. Does its first field take the focus at once? */
  takesFocus?: boolean;
}

/** Fields with labels, hints, and the faults that the server names. */
export function RecordForm({
  submit,
  fields,
  onSubmit,
  onDone,
  onChange,
  onCancel,
  username,
  takesFocus = false,
}: RecordFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [values, setValues] = useState<FormValues>(() => firstValues(fields));
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const find = (selector: string): HTMLElement | null | undefined => form.current?.querySelector(selector);
    if (takesFocus || failure !== undefined)
      (find('[aria-invalid=true]') ?? find('input:not([hidden]), select, textarea'))?.focus();
  }, [failure, takesFocus]);

  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    try {
      await onSubmit(values);
      setFailure(undefined);
      onDone();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const change = (name: string, value: string): void => {
    const next = { ...values, [name]: value };
    setValues(next);
    const first = firstValues(fields);
    onChange?.(Object.keys(next).some((each) => next[each] !== first[each]));
  };
  const causes = failure instanceof StatusError ? (failure.details?.causes ?? []) : [];
  const ofField = (name: string): string =>
    causes
      .filter(({ field = '' }) => isOf(field, name))
      .map(({ message }) => message)
      .join(' ');
  const isPlaced = causes.length > 0 && causes.every(({ field = '' }) => fields.some(({ name }) => isOf(field, name)));
  return (
    <>
      {failure === undefined || isPlaced ? undefined : <FailureNote failure={failure} />}
      <form ref={form} className="record-form" onSubmit={(event) => void send(event)}>
        {username === undefined ? undefined : <input hidden readOnly autoComplete="username" value={username} />}
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            value={values[field.name]!}
            fault={ofField(field.name)}
            onChange={(value) => change(field.name, value)}
          />
        ))}
        <div className="buttons">
          <button type="submit" className="button primary" aria-disabled={isBusy}>
            {submit}
          </button>
          {onCancel === undefined ? undefined : (
            <button type="button" className="button plain" onClick={onCancel}>
              {texts.cancel}
            </button>
          )}
        </div>
      </form>
    </>
  );
}

const firstValues = (fields: readonly RecordField[]): FormValues =>
  Object.fromEntries(fields.map(({ name, value = '' }) => [name, value]));

const isOf = (field: string, name: string): boolean => field === name || field.startsWith(`${name}[`);

interface FieldInputProps {
  field: RecordField;
  value: string;
  fault: string;
  onChange: (value: string) => void;
}

function FieldInput({ field, value, fault, onChange }: FieldInputProps) {
  const id = useId();
  const { label, kind = 'text', hint, isRequired = false, suggestions, autoComplete } = field;
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
          autoComplete={autoComplete ?? (kind === 'password' ? 'new-password' : 'off')}
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
