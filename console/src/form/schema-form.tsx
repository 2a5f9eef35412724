import type { JsonValue, StatusCause } from '@svc/client';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { texts } from '../texts/texts.ts';
import { commonHints, type FieldHints } from './field-hints.ts';
import { valueAt, withValueAt, type FieldPath } from './field-path.ts';
import { FieldGroup } from './field-group.tsx';
import { FieldView } from './field-view.tsx';
import { FormActionsContext, FormFactsContext, type FormActions, type UnfinishedText } from './form-context.ts';
import { rootField } from './form-field.ts';
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
  hints?: FieldHints;
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
  hints = commonHints,
  readOnly = none,
  onUnfinished,
}: SchemaFormProps) {
  const [unfinished, setUnfinished] = useState<ReadonlyMap<string, UnfinishedText>>(new Map());
  const [target, setTarget] = useState<{ field: string } | undefined>(undefined);
  // Two changes between two renderings build upon each other.
  const current = useRef(value);
  const changed = useRef(onChange);
  useEffect(() => {
    current.current = value;
    changed.current = onChange;
  });
  useEffect(() => onUnfinished?.(unfinished.size), [unfinished, onUnfinished]);
  const readOnlyKey = readOnly.join(' ');
  const actions = useMemo<FormActions>(
    () => ({
      shared: schema.shared,
      hints,
      readOnly: new Set(readOnlyKey.split(' ')),
      get: (path) => valueAt(current.current, path),
      set: (path: FieldPath, next) => {
        const after = withValueAt(current.current, path, next);
        if (after === current.current) return;
        current.current = after;
        changed.current(after);
      },
      setUnfinished: (key, text) =>
        setUnfinished((before) => {
          if (before.get(key) === text) return before;
          const after = new Map(before);
          if (text === undefined) after.delete(key);
          else after.set(key, text);
          return after;
        }),
      arrived: () => setTarget(undefined),
    }),
    [schema, hints, readOnlyKey],
  );
  const facts = useMemo(() => ({ causes, unfinished, target }), [causes, unfinished, target]);
  const root = rootField(schema.root, schema.shared, value);
  return (
    <FormActionsContext value={actions}>
      <FormFactsContext value={facts}>
        <div className="schema-form" role="group" aria-label={texts.form.label}>
          <FieldGroup field={root} View={FieldView} />
          {causes.length === 0 ? undefined : <Causes causes={causes} onChoose={(field) => setTarget({ field })} />}
        </div>
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
