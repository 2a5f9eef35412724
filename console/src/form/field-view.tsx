import type { JsonValue } from '@svc/client';
import { memo, useContext, useEffect, useId, useState } from 'react';
import { rulesText } from '../fields/rules-text.ts';
import { texts } from '../texts/texts.ts';
import { FieldControl, type ControlLabels } from './field-control.tsx';
import { FieldGroup, type FieldViewProps } from './field-group.tsx';
import { isWithin } from './field-path.ts';
import { causesAt, FormFactsContext, unfinishedKey, useFormActions } from './form-context.ts';
import { newValue, type FormField } from './form-field.ts';

/** One field with its label, description, faults and buttons. Rendered again only when its own value changes. */
export const FieldView = memo(
  function FieldView(props: FieldViewProps) {
    const { kind, value } = props.field;
    const isGroup = kind === 'object' || kind === 'map' || kind === 'list';
    return isGroup && value !== null ? <Section {...props} /> : <Leaf {...props} />;
  },
  (a, b) =>
    a.label === b.label &&
    a.actions === b.actions &&
    a.field.id === b.field.id &&
    a.field.kind === b.field.kind &&
    a.field.schema === b.field.schema &&
    a.field.place === b.field.place &&
    isSame(a.field, b.field),
);

/** The other fields of an object are a new object each time. */
function isSame({ kind, value }: FormField, { value: other }: FormField): boolean {
  return kind === 'others' ? JSON.stringify(value) === JSON.stringify(other) : Object.is(value, other);
}

function useLabel({ field, label }: FieldViewProps): string {
  const { hints } = useFormActions();
  if (field.kind === 'others') return texts.form.others;
  return label ?? hints.get(field.listed)?.label ?? field.name;
}

function Leaf(props: FieldViewProps) {
  const { field } = props;
  const { hints, readOnly, arrived } = useFormActions();
  const { causes, target, unfinished } = useContext(FormFactsContext);
  const id = useId();
  const label = useLabel(props);
  const faults = causesAt(field, causes).map(({ field: at, message }) =>
    at === field.id || at === undefined ? message : `${at}: ${message}`,
  );
  const isTarget = target !== undefined && causesAt(field, [target]).length > 0;
  useEffect(() => {
    if (!isTarget) return;
    document.getElementById(id)?.focus();
    arrived();
  }, [isTarget, id, arrived]);
  const hint = field.kind === 'others' ? undefined : hints.get(field.listed);
  const hintText = kindHint(field);
  const description = (
    field.kind === 'others' ? [hintText] : [hint?.help ?? field.schema.description, rulesOf(field), hintText]
  )
    .filter((text) => text !== undefined && text !== '')
    .join(' · ');
  const waiting = unfinished.get(unfinishedKey(field));
  const labels: ControlLabels = {
    id,
    describedBy: [description === '' ? undefined : `${id}-description`, `${id}-faults`].filter(Boolean).join(' '),
    isInvalid: faults.length > 0 || waiting !== undefined,
    isReadOnly: readOnly.has(field.id),
  };
  return (
    <div className="form-field">
      <div className="form-head">
        <label htmlFor={id}>{label}</label>
        <Marks field={field} />
        <span className="form-actions">
          {props.actions}
          {labels.isReadOnly ? undefined : <FieldActions field={field} />}
        </span>
      </div>
      <FieldControl field={field} labels={labels} widget={hint?.widget} />
      {description === '' ? undefined : <Description id={`${id}-description`} text={description} />}
      <div id={`${id}-faults`} className="form-faults">
        {faults.map((fault) => (
          <p key={fault} className="field-fault">
            {fault}
          </p>
        ))}
        {waiting === undefined ? undefined : <p className="field-fault">{texts.form.notYaml(waiting.fault)}</p>}
        {field.kind === 'number' && typeof field.value === 'string' && faults.length === 0 ? (
          <p className="field-fault">{texts.form.noNumber}</p>
        ) : undefined}
      </div>
    </div>
  );
}

/** The default is in the control, and so are the values of a choice. */
function rulesOf({ schema, kind }: FormField): string {
  const { default: _default, enum: values, ...rules } = schema;
  return rulesText(kind === 'choice' || values === undefined ? rules : { ...rules, enum: values });
}

function kindHint({ kind, schema }: FormField): string | undefined {
  if (kind === 'intOrString') return texts.form.intOrString;
  if (kind === 'others') return texts.form.othersHint;
  if (kind === 'yaml') return texts.form.yamlHint;
  return kind === 'text' && schema.format === 'date-time' ? texts.form.dateTime : undefined;
}

function Section(props: FieldViewProps) {
  const { field } = props;
  const { hints, arrived } = useFormActions();
  const { causes, target } = useContext(FormFactsContext);
  const [isOpen, setOpen] = useState(() => beginsOpen(field));
  const id = useId();
  const label = useLabel(props);
  useEffect(() => {
    if (target === undefined || !isWithin(target.field, field.id)) return;
    setOpen(true);
    if (target.field !== field.id) return;
    document.getElementById(id)?.focus();
    arrived();
  }, [target, field.id, id, arrived]);
  const own = causesAt(field, causes);
  const inside = causes.filter((cause) => cause.field !== undefined && isWithin(cause.field, field.id)).length;
  const description = hints.get(field.listed)?.help ?? field.schema.description ?? '';
  return (
    <div className="form-section" role="group" aria-labelledby={id}>
      <div className="form-head">
        <button
          type="button"
          id={id}
          className="form-toggle"
          aria-expanded={isOpen}
          aria-describedby={`${id}-description`}
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden="true" className="form-arrow" />
          {label}
        </button>
        <Marks field={field} />
        {inside > 0 && !isOpen ? <span className="field-fault">{texts.form.faults(inside)}</span> : undefined}
        <span className="form-actions">
          {props.actions}
          <FieldActions field={field} />
        </span>
      </div>
      <div id={`${id}-description`}>
        {own.map(({ message }) => (
          <p key={message} className="field-fault">
            {message}
          </p>
        ))}
        {description === '' ? undefined : <Description text={description} />}
      </div>
      {isOpen ? (
        <div className="form-body">
          <FieldGroup field={field} View={FieldView} />
        </div>
      ) : undefined}
    </div>
  );
}

/** So many steps from the root, what is there is open. */
const openDepth = 3;
const openRows = 20;

function beginsOpen({ value, path, place, kind }: FormField): boolean {
  if (path[0] === 'metadata' && path.length > 1) return false;
  if (path.length > openDepth) return false;
  if (value === undefined) return place === 'required' && kind === 'object';
  return path.length === 1 || Object.keys(value as object).length <= openRows;
}

/** What a label says besides the name. */
function Marks({ field: { place, value, kind } }: { field: FormField }) {
  const isGroup = kind === 'object' || kind === 'map' || kind === 'list';
  const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  const marks = [
    place === 'required' ? texts.form.required : undefined,
    value === null && kind !== 'yaml' && kind !== 'choice' ? texts.form.isNull : undefined,
    value === '' && kind !== 'choice' ? texts.form.emptyText : undefined,
    isGroup && value === undefined ? texts.form.absent : undefined,
    kind === 'list' && size > 0 ? texts.form.elements(size) : undefined,
    kind === 'map' && size > 0 ? texts.form.entries(size) : undefined,
  ].filter((mark) => mark !== undefined);
  return marks.length === 0 ? undefined : <span className="form-marks">{marks.join(' · ')}</span>;
}

/** To make the field absent, null, or there. */
function FieldActions({ field }: { field: FormField }) {
  const { set, shared, readOnly } = useFormActions();
  const { id, kind, place, path, schema, value } = field;
  // The list of a choice has all of this.
  if (kind === 'choice' && place !== 'element') return undefined;
  if (kind === 'others' || place === 'root' || readOnly.has(id)) return undefined;
  const isGroup = kind === 'object' || kind === 'map' || kind === 'list';
  const { form } = texts;
  const action = (text: string, label: string, next: () => JsonValue | undefined) => (
    <button type="button" className="form-action" aria-label={label} onClick={() => set(path, next())}>
      {text}
    </button>
  );
  return (
    <>
      {isGroup && (value === undefined || value === null)
        ? action(form.set, form.setField(id), () => newValue({ ...schema, default: undefined }, shared))
        : undefined}
      {schema.nullable === true && value !== null ? action(form.setNull, form.setNullField(id), () => null) : undefined}
      {value !== undefined && place !== 'required'
        ? action(form.remove, form.removeField(id), () => undefined)
        : undefined}
    </>
  );
}

const shortLength = 180;

function Description({ id, text }: { id?: string; text: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > shortLength + 40;
  const shown = isLong && !isWhole ? `${text.slice(0, text.lastIndexOf(' ', shortLength))} …` : text;
  return (
    <p className="form-description">
      <span id={id}>{shown}</span>{' '}
      {isLong ? (
        <button type="button" className="link" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? texts.form.readLess : texts.form.readMore}
        </button>
      ) : undefined}
    </p>
  );
}
