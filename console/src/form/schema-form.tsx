import type { JsonValue, StatusCause } from '@svc/client';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Observable } from '../server/observable.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { texts } from '../texts/texts.ts';
import type { FieldHints } from './field-hints.ts';
import { isObject, valueAt, withMoved, withRenamedKey, withValueAt } from './field-path.ts';
import { FieldGroup } from './field-group.tsx';
import { FieldView } from './field-view.tsx';
import { FormActionsContext, FormFactsContext, type FormActions, type FormFacts } from './form-context.ts';
import { rootField } from './form-field.ts';
import { RevealQueue, RevealQueueContext } from './reveal-queue.ts';
import { afterRemoval, afterRename, afterSwap, textsAt, type UnfinishedTexts } from './unfinished-texts.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './form.css';

export interface SchemaFormProps {
  schema: ModelSchema;
  value: JsonValue | undefined;
  /** The value with one change; what the change does not touch is the same part. */
  onChange: (value: JsonValue | undefined) => void;
  /** Why the server refuses the value: each is shown at its field. Default: none. */
  causes?: readonly StatusCause[];
  /** Default: those of metadata. */
  hints: FieldHints;
  /** Ids of fields that cannot be changed: `metadata.name`. */
  readOnly?: readonly string[];
  /** How many texts are not yet a value: what is saved would not have them. */
  onUnfinished?: (count: number) => void;
}

const none: readonly never[] = [];

/**
 * A form of a value of a structural schema. It shows every part of the value: what has no field of its own is YAML in
 * its place. A form for another value, or one that was given up, needs another `key`.
 */
export function SchemaForm({
  schema,
  value,
  onChange,
  causes = none,
  hints,
  readOnly = none,
  onUnfinished,
}: SchemaFormProps) {
  const [facts] = useState(() => new Observable<FormFacts>({ causes, unfinished: new Map(), target: undefined }));
  const [queue] = useState(() => new RevealQueue());
  // Two changes between two renderings build upon each other.
  const current = useRef(value);
  const told = useRef({ onChange, onUnfinished });
  useEffect(() => {
    current.current = value;
    told.current = { onChange, onUnfinished };
  });
  useLayoutEffect(() => facts.set({ ...facts.get(), causes }), [facts, causes]);
  // Another form begins without texts that are not values.
  useEffect(() => told.current.onUnfinished?.(0), []);
  const readOnlyKey = readOnly.join(' ');
  const actions = useMemo<FormActions>(() => {
    const setTexts = (unfinished: UnfinishedTexts): void => {
      if (unfinished === facts.get().unfinished) return;
      facts.set({ ...facts.get(), unfinished });
      told.current.onUnfinished?.(unfinished.size);
    };
    const set: FormActions['set'] = (path, next) => {
      const after = withValueAt(current.current, path, next);
      if (next === undefined) setTexts(textsAt(facts.get().unfinished, afterRemoval(path)));
      if (after === current.current) return;
      current.current = after;
      told.current.onChange(after);
    };
    const get: FormActions['get'] = (path) => valueAt(current.current, path);
    return {
      shared: schema.shared,
      hints,
      readOnly: new Set(readOnlyKey.split(' ')),
      get,
      set,
      moveUp: (element) => {
        const path = element.slice(0, -1);
        const list = get(path);
        const at = element.at(-1);
        if (!Array.isArray(list) || typeof at !== 'number' || at === 0) return;
        setTexts(textsAt(facts.get().unfinished, afterSwap(path, at, at - 1)));
        set(path, withMoved(list, at, at - 1));
      },
      renameKey: (map, from, to) => {
        const renamed = withRenamedKey(get(map), from, to);
        if (renamed === undefined || !isObject(renamed)) return;
        setTexts(textsAt(facts.get().unfinished, afterRename(map, from, to)));
        set(map, renamed);
      },
      setUnfinished: (key, text) => {
        const { unfinished } = facts.get();
        if (unfinished.get(key) === text) return;
        const after = new Map(unfinished);
        if (text === undefined) after.delete(key);
        else after.set(key, text);
        setTexts(after);
      },
      arrived: () => facts.set({ ...facts.get(), target: undefined }),
    };
  }, [schema, hints, readOnlyKey, facts]);
  const root = rootField(schema.root, schema.shared, value);
  return (
    <FormActionsContext value={actions}>
      <FormFactsContext value={facts}>
        <RevealQueueContext value={queue}>
          <div className="schema-form" role="group" aria-label={texts.form.label}>
            <FieldGroup field={root} View={FieldView} />
            {causes.length === 0 ? undefined : (
              <Causes causes={causes} onChoose={(field) => facts.set({ ...facts.get(), target: { field } })} />
            )}
          </div>
        </RevealQueueContext>
      </FormFactsContext>
    </FormActionsContext>
  );
}

/** All causes, so that none is hidden in a part that is closed; each leads to its field. */
function Causes({ causes, onChoose }: { causes: readonly StatusCause[]; onChoose: (field: string) => void }) {
  return (
    <div role="status" className="note failure">
      <p>{texts.form.causes}</p>
      <ul>
        {causes.map(({ field = '', message }) => (
          <li key={`${field} ${message}`}>
            {field === '' ? undefined : (
              <button type="button" className="link" onClick={() => onChoose(field)}>
                {field}
              </button>
            )}{' '}
            {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
