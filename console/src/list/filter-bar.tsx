import { useId, useState, type FormEvent, type RefObject } from 'react';
import { texts } from '../texts/texts.ts';
import {
  conditionText,
  fieldOperators,
  labelText,
  parseLabel,
  type FieldCondition,
  type FieldOperator,
  type LabelCondition,
  type ListView,
} from './list-view.ts';
import type { IndexFact } from './model-facts.ts';

export interface FilterBarProps {
  indexes: readonly IndexFact[];
  view: ListView;
  onChange: (view: ListView) => void;
  firstField: RefObject<HTMLSelectElement | null>;
}

/** Conditions that the server can answer from an index, and those that hold now. */
export function FilterBar({ indexes, view, onChange, firstField }: FilterBarProps) {
  const drop = <T,>(all: readonly T[], one: T): T[] => all.filter((each) => each !== one);
  return (
    <section aria-label={texts.filter.label} className="filter">
      <FieldForm
        indexes={indexes}
        firstField={firstField}
        onAdd={(condition) => onChange({ ...view, conditions: [...view.conditions, condition] })}
      />
      <LabelForm onAdd={(label) => onChange({ ...view, labels: [...view.labels, label] })} />
      {view.conditions.length + view.labels.length === 0 ? undefined : (
        <ul className="chips">
          {view.conditions.map((condition) => (
            <Chip
              key={conditionText(condition)}
              text={conditionText(condition)}
              onDrop={() => onChange({ ...view, conditions: drop(view.conditions, condition) })}
            />
          ))}
          {view.labels.map((label) => (
            <Chip
              key={`label ${labelText(label)}`}
              text={labelText(label)}
              onDrop={() => onChange({ ...view, labels: drop(view.labels, label) })}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function Chip({ text, onDrop }: { text: string; onDrop: () => void }) {
  return (
    <li>
      <code>{text}</code>
      <button type="button" aria-label={texts.filter.drop(text)} onClick={onDrop}>
        ×
      </button>
    </li>
  );
}

interface FieldFormProps extends Pick<FilterBarProps, 'indexes' | 'firstField'> {
  onAdd: (condition: FieldCondition) => void;
}

function FieldForm({ indexes, firstField, onAdd }: FieldFormProps) {
  const [chosen, setChosen] = useState(0);
  const [operator, setOperator] = useState<FieldOperator>('=');
  const [value, setValue] = useState('');
  const index = indexes[chosen] ?? indexes[0]!;
  const operators = operatorsOf(index);
  const current = operators.includes(operator) ? operator : '=';
  const needsValue = current !== 'exists' && current !== 'missing';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onAdd({ index: index.name, operator: current, value: needsValue ? value : '' });
    setValue('');
  };
  return (
    <form onSubmit={submit}>
      <label>
        {texts.filter.field}
        <select ref={firstField} value={chosen} onChange={(event) => setChosen(Number(event.target.value))}>
          {indexes.map(({ name }, at) => (
            <option key={name} value={at}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {texts.filter.operator}
        <select value={current} onChange={(event) => setOperator(event.target.value as FieldOperator)}>
          {operators.map((each) => (
            <option key={each} value={each}>
              {texts.filter.operators[each]}
            </option>
          ))}
        </select>
      </label>
      {needsValue ? (
        <label>
          {texts.filter.value}
          <ValueInput type={index.type} value={value} onChange={setValue} />
        </label>
      ) : undefined}
      <button type="submit" className="button plain">
        {texts.filter.add}
      </button>
    </form>
  );
}

interface ValueInputProps {
  type: IndexFact['type'];
  value: string;
  onChange: (value: string) => void;
}

function ValueInput({ type, value, onChange }: ValueInputProps) {
  if (type === 'boolean')
    return (
      <select required value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="" />
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  return (
    <input
      required={type !== 'string'}
      value={value}
      inputMode={type === 'integer' || type === 'number' ? 'decimal' : 'text'}
      placeholder={type === 'date' ? '2026-01-31T09:30:00Z' : ''}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function operatorsOf({ type, isMulti }: IndexFact): readonly FieldOperator[] {
  return fieldOperators.filter((operator) => {
    if (operator === '^=') return type === 'string' && !isMulti;
    return !/[<>]/.test(operator) || (type !== 'boolean' && !isMulti);
  });
}

function LabelForm({ onAdd }: { onAdd: (label: LabelCondition) => void }) {
  const id = useId();
  const [text, setText] = useState('');
  const [isWrong, setWrong] = useState(false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const label = parseLabel(text);
    setWrong(label === undefined);
    if (label === undefined) return;
    onAdd(label);
    setText('');
  };
  return (
    <form onSubmit={submit}>
      <label>
        {texts.filter.labels}
        <input
          value={text}
          placeholder={texts.filter.labelsHint}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? id : undefined}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <button type="submit" className="button plain">
        {texts.filter.addLabel}
      </button>
      {isWrong ? (
        <span id={id} role="alert" className="field-fault">
          {texts.filter.noLabel}
        </span>
      ) : undefined}
    </form>
  );
}
