import type { JsonValue } from '@svc/client';
import { memo, useContext, useEffect, useId, useState } from 'react';
import { rulesText } from '../fields/rules-text.ts';
import { texts } from '../texts/texts.ts';
import { EmbeddedObject } from './embedded-object.tsx';
import { FieldControl, type ControlLabels } from './field-control.tsx';
import { FieldGroup, type FieldViewProps } from './field-group.tsx';
import type { FieldWidget } from './field-hints.ts';
import { isWithin } from './field-path.ts';
import { causesAt, FormFactsContext, isSameList, useFormActions, useFormFact, type FormFacts } from './form-context.ts';
import { isGroup, newValue, type FormField } from './form-field.ts';
import { MapKey } from './map-key.tsx';
import { useReveal } from './reveal-queue.ts';
import { unfinishedKey, type UnfinishedText } from './unfinished-texts.ts';

/** One field with its label, description, faults and buttons. Rendered again only when its own value changes. */
export const FieldView = memo(
  function FieldView(props: FieldViewProps) {
    return useReveal() ? <Field {...props} /> : <div className="form-pending" />;
  },
  (a, b) =>
    a.label === b.label &&
    a.canMoveUp === b.canMoveUp &&
    a.onRename === b.onRename &&
    a.field.id === b.field.id &&
    a.field.kind === b.field.kind &&
    a.field.schema === b.field.schema &&
    a.field.place === b.field.place &&
    isSame(a.field, b.field),
);

function Field(props: FieldViewProps) {
  const { field } = props;
  const widget = useWidget(field);
  const isText = !isGroup(field) || field.value === null || widget === 'yaml';
  return isText ? <Leaf {...props} widget={widget} /> : <Section {...props} />;
}

/** The widget of the hints. Another one waits until the focus, and a text that is no value yet, have left the field. */
function useWidget(field: FormField): FieldWidget | undefined {
  const { hints } = useFormActions();
  const facts = useContext(FormFactsContext);
  const { id, kind, listed } = field;
  const wished = kind === 'others' ? undefined : hints.get(listed)?.widget;
  const [widget, setWidget] = useState(wished);
  useEffect(() => {
    if (wished === widget) return undefined;
    const settle = (focused: EventTarget | null): void => {
      const isBusy = [...facts.get().unfinished.keys()].some((key) => isWithin(key.slice(key.indexOf(' ') + 1), id));
      if (!isBusy && !hasElement(id, focused)) setWidget(wished);
    };
    const left = ({ relatedTarget }: FocusEvent): void => settle(relatedTarget);
    settle(document.activeElement);
    document.addEventListener('focusout', left);
    return () => document.removeEventListener('focusout', left);
  }, [wished, widget, facts, id]);
  return widget;
}

function hasElement(id: string, element: EventTarget | null): boolean {
  const place = element instanceof Element ? element.closest<HTMLElement>('[data-field]')?.dataset['field'] : undefined;
  return place !== undefined && isWithin(place, id);
}

/** The other fields of an object are a new object each time. */
function isSame({ kind, value }: FormField, { value: other }: FormField): boolean {
  return kind === 'others' ? JSON.stringify(value) === JSON.stringify(other) : Object.is(value, other);
}

function useLabel({ field, label }: FieldViewProps): string {
  const { hints } = useFormActions();
  if (field.kind === 'others') return texts.form.others;
  return label ?? hints.get(field.listed)?.label ?? field.name;
}

interface LeafFacts {
  faults: readonly string[];
  /** Shall the focus come here? */
  isTarget: boolean;
  waiting: UnfinishedText | undefined;
}

function leafFactsOf(field: FormField, { causes, target, unfinished }: FormFacts): LeafFacts {
  return {
    faults: causesAt(field, causes).map(({ field: at, message }) =>
      at === field.id || at === undefined ? message : `${at}: ${message}`,
    ),
    isTarget: target !== undefined && causesAt(field, [target]).length > 0,
    waiting: unfinished.get(unfinishedKey(field)),
  };
}

function isSameLeaf(a: LeafFacts, b: LeafFacts): boolean {
  return isSameList(a.faults, b.faults) && a.isTarget === b.isTarget && a.waiting === b.waiting;
}

function Leaf(props: FieldViewProps & { widget: FieldWidget | undefined }) {
  // A group that is shown as one text is one.
  const field = isGroup(props.field) && props.widget === 'yaml' ? asYaml(props.field) : props.field;
  const { isPart = false } = props;
  const { hints, readOnly, arrived } = useFormActions();
  const { faults, isTarget, waiting } = useFormFact((facts) => leafFactsOf(field, facts), isSameLeaf);
  const id = useId();
  const label = useLabel(props);
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
  const shownFaults = [
    ...faults,
    ...(waiting === undefined ? [] : [texts.form.notYaml(waiting.fault)]),
    ...(field.kind === 'number' && typeof field.value === 'string' && faults.length === 0 ? [texts.form.noNumber] : []),
  ];
  const hasFaults = shownFaults.length > 0;
  const labels: ControlLabels = {
    id,
    describedBy: [description === '' ? undefined : `${id}-description`, hasFaults ? `${id}-faults` : undefined]
      .filter(Boolean)
      .join(' '),
    isInvalid: faults.length > 0 || waiting !== undefined,
    isReadOnly: readOnly.has(field.id),
  };
  return (
    <div className="form-field" data-field={field.id}>
      <div className="form-head">
        <label htmlFor={id}>{label}</label>
        <Marks field={field} />
        <RowActions {...props} />
        <span className="form-actions">{labels.isReadOnly || isPart ? undefined : <FieldActions field={field} />}</span>
      </div>
      <FieldControl field={field} labels={labels} widget={props.widget} />
      {description === '' ? undefined : <Description id={`${id}-description`} text={description} />}
      {hasFaults ? (
        <div id={`${id}-faults`} className="form-faults">
          {shownFaults.map((fault) => (
            <p key={fault} className="field-fault">
              {fault}
            </p>
          ))}
        </div>
      ) : undefined}
    </div>
  );
}

function asYaml(field: FormField): FormField {
  return { ...field, kind: 'yaml' };
}

/** What the rows of lists and maps have besides. */
function RowActions({ field, canMoveUp = false, onRename }: FieldViewProps) {
  const { moveUp } = useFormActions();
  return (
    <>
      {onRename === undefined ? undefined : <MapKey field={field} onRename={onRename} />}
      {canMoveUp ? (
        <button
          type="button"
          className="form-action form-row-action"
          aria-label={texts.form.upField(field.id)}
          onClick={() => moveUp(field.path)}
        >
          {texts.form.up}
        </button>
      ) : undefined}
    </>
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
  const target = useFormFact((facts) =>
    facts.target !== undefined && isWithin(facts.target.field, field.id) ? facts.target : undefined,
  );
  const inside = useFormFact(
    ({ causes }) => causes.filter((cause) => cause.field !== undefined && isWithin(cause.field, field.id)),
    isSameList,
  );
  const [isOpen, setOpen] = useState(() => beginsOpen(field));
  const id = useId();
  const label = useLabel(props);
  useEffect(() => {
    if (target === undefined) return;
    setOpen(true);
    if (target.field !== field.id) return;
    document.getElementById(id)?.focus();
    arrived();
  }, [target, field.id, id, arrived]);
  const own = causesAt(field, inside);
  const description = hints.get(field.listed)?.help ?? field.schema.description ?? '';
  return (
    <div className="form-section" role="group" aria-labelledby={id} data-field={field.id}>
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
          <span className="form-name">{label}</span>
        </button>
        <Marks field={field} />
        {inside.length > 0 && !isOpen ? (
          <span className="field-fault">{texts.form.faults(inside.length)}</span>
        ) : undefined}
        <RowActions {...props} />
        <span className="form-actions">
          <FieldActions field={field} onSet={() => setOpen(true)} />
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
          {field.kind === 'embedded' ? (
            <EmbeddedObject field={field} View={FieldView} />
          ) : (
            <FieldGroup field={field} View={FieldView} />
          )}
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
function Marks({ field }: { field: FormField }) {
  const { place, value, kind } = field;
  const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  const marks = [
    place === 'required' ? texts.form.required : undefined,
    value === null && kind !== 'yaml' && kind !== 'choice' ? texts.form.isNull : undefined,
    value === '' && kind !== 'choice' ? texts.form.emptyText : undefined,
    isGroup(field) && value === undefined ? texts.form.absent : undefined,
    kind === 'list' && size > 0 ? texts.form.elements(size) : undefined,
    kind === 'map' && size > 0 ? texts.form.entries(size) : undefined,
  ].filter((mark) => mark !== undefined);
  return marks.length === 0 ? undefined : <span className="form-marks">{marks.join(' · ')}</span>;
}

/** To make the field absent, null, or there. */
function FieldActions({ field, onSet }: { field: FormField; onSet?: () => void }) {
  const { set, shared, readOnly } = useFormActions();
  const { id, kind, place, path, schema, value } = field;
  // The list of a choice has all of this.
  if (kind === 'choice' && place !== 'element') return undefined;
  if (kind === 'others' || place === 'root' || readOnly.has(id)) return undefined;
  const { form } = texts;
  const action = (text: string, label: string, next: () => JsonValue | undefined, then?: () => void) => (
    <button
      type="button"
      className="form-action"
      aria-label={label}
      onClick={() => {
        set(path, next());
        then?.();
      }}
    >
      {text}
    </button>
  );
  return (
    <>
      {isGroup(field) && kind !== 'embedded' && (value === undefined || value === null)
        ? action(form.set, form.setField(id), () => newValue({ ...schema, default: undefined }, shared), onSet)
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
