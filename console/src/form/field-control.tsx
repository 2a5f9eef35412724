import type { JsonValue } from '@svc/client';
import { useState } from 'react';
import { parseYaml, TextFault, toYaml } from '../editor/yaml-text.ts';
import { texts } from '../texts/texts.ts';
import type { FieldWidget } from './field-hints.ts';
import { isObject, withOtherFields } from './field-path.ts';
import { intOrStringText, numberText, parseIntOrString, parseNumber } from './field-text.ts';
import { useFormActions, useFormFact } from './form-context.ts';
import { choicesOf, declaredNames, type FormField } from './form-field.ts';
import { unfinishedKey } from './unfinished-texts.ts';

export interface ControlLabels {
  id: string;
  describedBy: string;
  isInvalid: boolean;
  isReadOnly: boolean;
}

interface ControlProps {
  field: FormField;
  labels: ControlLabels;
}

/** What the person types into, or chooses from. */
export function FieldControl({ field, labels, widget }: ControlProps & { widget: FieldWidget | undefined }) {
  const props = { field, labels };
  if (widget === 'yaml' && field.kind !== 'others') return <YamlControl {...props} />;
  switch (field.kind) {
    case 'choice':
      return <ChoiceControl {...props} />;
    case 'number':
      return <TypedControl {...props} show={(value) => numberText(value) ?? ''} read={parseNumber} />;
    case 'intOrString':
      return (
        <TypedControl {...props} show={(value) => intOrStringText(value as string | number)} read={parseIntOrString} />
      );
    case 'text':
      return <TextControl {...props} widget={widget} />;
    case 'others':
      return <OthersControl {...props} />;
    default:
      return <YamlControl {...props} />;
  }
}

function attributesOf({ id, describedBy, isInvalid, isReadOnly }: ControlLabels) {
  return {
    id,
    'aria-describedby': describedBy,
    'aria-invalid': isInvalid,
    readOnly: isReadOnly,
    autoComplete: 'off',
    spellCheck: false,
  };
}

/** What a field without a text has: an empty one where a text must be, else nothing. */
function emptied(field: FormField): JsonValue | undefined {
  return field.place === 'element' || (field.place === 'required' && field.kind !== 'number') ? '' : undefined;
}

function placeholderOf({ schema, value }: FormField): string {
  if (value === null) return texts.form.isNull;
  return schema.default === undefined ? '' : texts.form.defaultIs(plainText(schema.default));
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A text of more than this is edited in several lines. */
const longText = 80;
const longRule = 1000;

function TextControl({ field, labels, widget }: ControlProps & { widget: FieldWidget | undefined }) {
  const { set } = useFormActions();
  const { schema, path, value } = field;
  const text = typeof value === 'string' ? value : '';
  // As it began: a field that changes while somebody types would lose the focus.
  const [beganLong] = useState(() => text.length > longText || (schema.maxLength ?? 0) > longRule);
  const isLong = widget === 'multiline' || (widget === undefined && beganLong);
  const change = (next: string): void => set(path, next === '' ? emptied(field) : next);
  const attributes = { ...attributesOf(labels), placeholder: placeholderOf(field) };
  if (isLong || text.includes('\n'))
    return <textarea {...attributes} rows={3} value={text} onChange={(event) => change(event.target.value)} />;
  const isDate = schema.format === 'date' && (text === '' || /^\d{4}-\d\d-\d\d$/.test(text));
  return (
    <input
      {...attributes}
      type={isDate ? 'date' : 'text'}
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  );
}

interface TypedControlProps extends ControlProps {
  show: (value: JsonValue) => string;
  read: (text: string) => JsonValue;
}

/** A text that means a value: what was typed stays as it was typed while it means the value that the field has. */
function TypedControl({ field, labels, show, read }: TypedControlProps) {
  const { set } = useFormActions();
  const { path, value } = field;
  const [typed, setTyped] = useState('');
  const text = value === undefined || value === null ? '' : Object.is(read(typed), value) ? typed : show(value);
  return (
    <input
      {...attributesOf(labels)}
      type="text"
      inputMode={field.kind === 'number' ? 'decimal' : 'text'}
      placeholder={placeholderOf(field)}
      value={text}
      onChange={(event) => {
        const next = event.target.value;
        setTyped(next);
        set(path, next === '' ? emptied(field) : read(next));
      }}
    />
  );
}

function ChoiceControl({ field, labels }: ControlProps) {
  const { set } = useFormActions();
  const { path, place, schema, value } = field;
  const choices = choicesOf(field);
  const at = value === undefined ? 'absent' : value === null ? 'null' : String(choices.indexOf(value));
  const { id, describedBy, isInvalid, isReadOnly } = labels;
  return (
    <select
      id={id}
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      disabled={isReadOnly}
      value={at}
      onChange={({ target }) =>
        set(
          path,
          target.value === 'absent' ? undefined : target.value === 'null' ? null : choices[Number(target.value)],
        )
      }
    >
      {place === 'element' || (place === 'required' && value !== undefined) ? undefined : (
        <option value="absent">
          {schema.default === undefined ? texts.form.notSet : texts.form.defaultIs(plainText(schema.default))}
        </option>
      )}
      {schema.nullable === true || value === null ? <option value="null">{texts.form.isNull}</option> : undefined}
      {choices.map((choice, index) => (
        <option key={JSON.stringify(choice)} value={index}>
          {choice === '' ? texts.form.emptyText : plainText(choice)}
        </option>
      ))}
    </select>
  );
}

function YamlControl({ field, labels }: ControlProps) {
  const { set } = useFormActions();
  return (
    <YamlArea
      field={field}
      labels={labels}
      onValue={(value) => set(field.path, value)}
      canBeAbsent={field.place !== 'element'}
    />
  );
}

function OthersControl({ field, labels }: ControlProps) {
  const { get, set } = useFormActions();
  const declared = declaredNames(field.schema);
  const take = (value: JsonValue | undefined): void => {
    if (value !== undefined && !isObject(value)) throw new TextFault(texts.form.notObject);
    const taken = Object.keys(value ?? {}).find((name) => declared.has(name));
    if (taken !== undefined) throw new TextFault(texts.form.declared(taken));
    set(field.path, withOtherFields(get(field.path), declared, value ?? {}));
  };
  return <YamlArea field={field} labels={labels} onValue={take} canBeAbsent />;
}

interface YamlAreaProps extends ControlProps {
  /** @throws TextFault if it cannot be this value */
  onValue: (value: JsonValue | undefined) => void;
  canBeAbsent: boolean;
}

/** What is typed stays as it is while it means the value that the field has, or none. */
function YamlArea({ field, labels, onValue, canBeAbsent }: YamlAreaProps) {
  const { setUnfinished } = useFormActions();
  const key = unfinishedKey(field);
  const waiting = useFormFact(({ unfinished }) => unfinished.get(key));
  const [typed, setTyped] = useState<{ text: string; value: JsonValue | undefined } | undefined>(undefined);
  const own = field.value === undefined ? '' : toYaml(field.value);
  const isTyped = typed !== undefined && JSON.stringify(typed.value) === JSON.stringify(field.value);
  const text = waiting?.text ?? (isTyped ? typed.text : own);
  return (
    <textarea
      {...attributesOf(labels)}
      className="form-yaml"
      rows={Math.min(12, Math.max(2, text.split('\n').length))}
      placeholder={placeholderOf(field)}
      value={text}
      onChange={(event) => {
        const next = event.target.value;
        try {
          const value = next.trim() === '' && canBeAbsent ? undefined : parseYaml(next);
          onValue(value);
          setTyped({ text: next, value });
          setUnfinished(key, undefined);
        } catch (error) {
          if (!(error instanceof TextFault)) throw error;
          setUnfinished(key, { text: next, fault: error.message });
        }
      }}
    />
  );
}
