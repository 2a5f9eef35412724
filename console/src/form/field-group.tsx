import type { JsonValue } from '@svc/client';
import { useCallback, useEffect, useId, useMemo, useRef, useState, type ComponentType, type ReactNode } from 'react';
import { texts } from '../texts/texts.ts';
import { inHintedOrder } from './field-hints.ts';
import { isObject, isWithin, ownValue } from './field-path.ts';
import { isSameList, useFormActions, useFormFact } from './form-context.ts';
import {
  blockChoicesOf,
  blockFieldsOf,
  fieldsIn,
  hasBlock,
  newValue,
  type BlockChoice,
  type FormField,
} from './form-field.ts';

export interface FieldViewProps {
  field: FormField;
  /** Else it is the name of the field. */
  label?: string;
  /** It is a part of a field that has buttons of its own. */
  isPart?: boolean;
  /** The element of a list may change places with the one before it. */
  canMoveUp?: boolean;
  /** The key of an entry of a map may become another one. */
  onRename?: (from: string, to: string) => void;
}

interface FieldGroupProps {
  field: FormField;
  /** Shows one field, and what is in it by `FieldGroup`. */
  View: ComponentType<FieldViewProps>;
}

/** What is in an object, a map or a list. */
export function FieldGroup({ field, View }: FieldGroupProps) {
  switch (field.kind) {
    case 'object':
      return <ObjectFields field={field} View={View} />;
    case 'map':
      return <MapEntries field={field} View={View} />;
    case 'list':
      return <ListElements field={field} View={View} />;
    default:
      return <View field={field} label={field.name === '' ? texts.form.root : field.name} />;
  }
}

/** An object with more fields shows at first those that are required or there. */
const fewFields = 8;

function ObjectFields({ field, View }: FieldGroupProps) {
  const { shared, hints } = useFormActions();
  const causes = useFormFact(
    (facts) => facts.causes.filter(({ field: at = '' }) => isWithin(at, field.id)),
    isSameList,
  );
  const [isWhole, setWhole] = useState(false);
  // A field that became absent while it was shown stays in its place.
  const seen = useRef(new Set<string>());
  const all = inHintedOrder(fieldsIn(field, shared), hints).filter((each) => !isTypeOfEmbedded(each));
  const choices = useMemo(() => blockChoicesOf(field.schema), [field.schema]);
  const inBlocks = useMemo(() => new Set(choices.flatMap((choice) => [...blockFieldsOf(choice)])), [choices]);
  const isMany = all.length > fewFields;
  const hasCause = ({ id }: FormField): boolean => causes.some(({ field: at = '' }) => isWithin(at, id));
  const isOffered = (each: FormField): boolean => {
    if (inBlocks.has(each.name)) return false;
    const isMore = hints.get(each.listed)?.more === true || (isMany && hints.get(each.listed)?.order === undefined);
    return isWhole || !isMore || each.place === 'required' || hasCause(each);
  };
  const shown = all.filter((each) => {
    if (each.value !== undefined || isOffered(each)) seen.current.add(each.name);
    return seen.current.has(each.name);
  });
  const hidden = all.filter((each) => !shown.includes(each) && !inBlocks.has(each.name)).length;
  return (
    <>
      {choices.map((choice) => (
        <Blocks
          key={JSON.stringify(choice.blocks)}
          field={field}
          choice={choice}
          onLeave={(names) => {
            for (const name of names) seen.current.delete(name);
          }}
        />
      ))}
      {shown.map((each) => (
        <View key={`${each.kind === 'others' ? 'others' : 'field'} ${each.name}`} field={each} />
      ))}
      {hidden > 0 ? (
        <button
          type="button"
          className="button plain"
          aria-label={texts.form.moreOf(hidden, field.id === '' ? texts.form.root : field.id)}
          onClick={() => setWhole(true)}
        >
          {texts.form.more(hidden)}
        </button>
      ) : undefined}
    </>
  );
}

/** Kind and version of an embedded object are chosen. */
function isTypeOfEmbedded({ path, listed }: FormField): boolean {
  return path.length > 1 && (listed === 'apiVersion' || listed === 'kind');
}

interface BlocksProps {
  field: FormField;
  choice: BlockChoice;
  /** These fields are taken away. */
  onLeave: (names: readonly string[]) => void;
}

/** Which of several blocks there are. One that was left comes back as it was. */
function Blocks({ field, choice, onLeave }: BlocksProps) {
  const { get, set, shared, hints } = useFormActions();
  const left = useRef(new Map<string, JsonValue>());
  const name = useId();
  const { blocks, isExclusive } = choice;
  const { schema, path, listed } = field;
  const change = (wanted: ReadonlySet<string>): void => {
    const object = get(path);
    const before = Object.entries(isObject(object) ? object : {});
    const leaving = blockFieldsOf(choice);
    const gone = before.filter(([key]) => leaving.has(key) && !wanted.has(key));
    onLeave([...leaving].filter((key) => !wanted.has(key)));
    for (const [key, value] of gone) {
      left.current.set(key, value);
      set([...path, key], undefined);
    }
    for (const key of wanted)
      if (ownValue(object, key) === undefined)
        set([...path, key], left.current.get(key) ?? newValue(schema.properties![key]!, shared));
  };
  const choose = (block: readonly string[], isWanted: boolean): void => {
    const others = isExclusive ? [] : blocks.filter((each) => each !== block && hasBlock(choice, each, get(path)));
    change(new Set([...others.flat(), ...(isWanted ? block : [])]));
  };
  const title = (key: string): string => hints.get(listed === '' ? key : `${listed}.${key}`)?.label ?? key;
  const legend = !isExclusive
    ? texts.form.chooseSome
    : blocks.some((block) => block.length === 0)
      ? texts.form.chooseAtMost
      : texts.form.choose;
  return (
    <fieldset className="form-blocks">
      <legend>{legend}</legend>
      {blocks.map((block) => (
        <label key={block.join(' ')} className="check">
          <input
            type={isExclusive ? 'radio' : 'checkbox'}
            name={name}
            checked={hasBlock(choice, block, field.value)}
            onChange={({ target }) => choose(block, target.checked)}
          />
          {block.length === 0 ? texts.form.noBlock : block.map(title).join(', ')}
        </label>
      ))}
    </fieldset>
  );
}

/** So many rows are shown at once. */
const rowsAtOnce = 50;

function useRows<T>(rows: readonly T[]): { shown: readonly T[]; more: ReactNode } {
  const [count, setCount] = useState(rowsAtOnce);
  const hidden = rows.length - count;
  return {
    shown: rows.slice(0, count),
    more:
      hidden > 0 ? (
        <button type="button" className="button plain" onClick={() => setCount(count + rowsAtOnce)}>
          {texts.form.moreRows(Math.min(hidden, rowsAtOnce))}
        </button>
      ) : undefined,
  };
}

function MapEntries({ field, View }: FieldGroupProps) {
  const { shared, set, renameKey } = useFormActions();
  const [key, setKey] = useState('');
  const id = useId();
  const rows = useRowNames();
  const path = useRef(field.path);
  useEffect(() => {
    path.current = field.path;
  });
  const rename = useCallback(
    (from: string, to: string) => {
      rows.rename(from, to);
      renameKey(path.current, from, to);
    },
    [rows, renameKey],
  );
  const { shown, more } = useRows(fieldsIn(field, shared));
  const isTaken = ownValue(field.value, key) !== undefined;
  const add = (): void => {
    if (key === '' || isTaken) return;
    const { additionalProperties } = field.schema;
    set([...field.path, key], newValue(typeof additionalProperties === 'object' ? additionalProperties : {}, shared));
    setKey('');
  };
  return (
    <>
      {shown.map((each) => (
        <View key={rows.of(each.name)} field={each} label={each.name} onRename={rename} />
      ))}
      {more}
      <div className="form-add">
        <input
          aria-label={texts.form.keyOf(field.id)}
          aria-invalid={isTaken}
          aria-describedby={id}
          placeholder={texts.form.key}
          autoComplete="off"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') add();
          }}
        />
        <button
          type="button"
          className="button plain"
          aria-label={texts.form.addTo(field.id)}
          aria-disabled={key === '' || isTaken}
          onClick={add}
        >
          {texts.form.add}
        </button>
        <span id={id} className="field-fault">
          {isTaken ? texts.form.keyTaken : ''}
        </span>
      </div>
    </>
  );
}

interface RowNames {
  of: (key: string) => number;
  rename: (from: string, to: string) => void;
}

/** A name for the row of each key, which stays when the key is renamed: the row keeps the focus, and what is open. */
function useRowNames(): RowNames {
  const [names] = useState(() => {
    const rows = new Map<string, number>();
    let count = 0;
    const of = (key: string): number => {
      const row = rows.get(key) ?? count++;
      rows.set(key, row);
      return row;
    };
    return {
      of,
      rename: (from: string, to: string) => {
        rows.set(to, of(from));
        rows.delete(from);
      },
    };
  });
  return names;
}

function ListElements({ field, View }: FieldGroupProps) {
  const { shared, set } = useFormActions();
  const { schema, path, id } = field;
  const elements = fieldsIn(field, shared);
  const { shown, more } = useRows(elements);
  const hasOrder = schema['x-kubernetes-list-type'] !== 'set';
  return (
    <>
      {shown.map((each, at) => (
        <View key={each.name} field={each} label={elementLabel(field, each, at)} canMoveUp={hasOrder && at > 0} />
      ))}
      {more}
      <div className="form-add">
        <button
          type="button"
          className="button plain"
          aria-label={texts.form.addTo(id)}
          onClick={() => set([...path, elements.length], newValue(schema.items!, shared))}
        >
          {texts.form.add}
        </button>
      </div>
    </>
  );
}

/** An element of a list with keys is known by them. */
function elementLabel({ schema }: FormField, { value }: FormField, at: number): string {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const named = keys
    .map((key) => [key, ownValue(value, key)] as const)
    .filter(([, of]) => of !== undefined && of !== '')
    .map(([key, of]) => `${key}=${typeof of === 'string' ? of : JSON.stringify(of)}`);
  return named.length === 0 ? texts.form.element(at + 1) : named.join(', ');
}
