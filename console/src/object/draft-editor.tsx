import type { JsonObject, JsonValue, StatusCause } from '@svc/client';
import { useDeferredValue, useMemo, useRef, useState } from 'react';
import { parseYaml, TextFault } from '../editor/yaml-text.ts';
import type { FieldHints } from '../form/field-hints.ts';
import { isObject } from '../form/field-path.ts';
import { SchemaForm } from '../form/schema-form.tsx';
import { lazy } from '../interface/lazy.tsx';
import type { ModelInfo } from '../server/model-info.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { texts } from '../texts/texts.ts';
import { draftOf, typedDraft, type EditorDraft } from './editor-draft.ts';
import type { EditorView } from './editor-tabs.tsx';

// A form is there without it.
const YamlEditor = lazy(async () => ({ default: (await import('../editor/yaml-editor.tsx')).YamlEditor }));

interface DraftEditorProps {
  model: ModelInfo;
  schema: ModelSchema | 'none' | undefined;
  /** Undefined until they are known. */
  hints: FieldHints | undefined;
  view: EditorView;
  /** Of the YAML. */
  label: string;
  draft: EditorDraft;
  onChange: (draft: EditorDraft) => void;
  causes: readonly StatusCause[];
  /** Ids of fields that cannot be changed. */
  readOnly?: readonly string[];
  onUnfinished: (count: number) => void;
  /** With another number the form forgets the texts that are not yet values. Default 0. */
  attempt?: number;
}

/**
 * One draft of an object, as a form and as YAML: what one changes, the other shows. The YAML stays as it was typed until
 * the form changes something.
 */
export function DraftEditor(props: DraftEditorProps) {
  const { model, schema, hints, view, label, draft, onChange, causes, readOnly, onUnfinished, attempt = 0 } = props;
  // Once it was shown it stays, with the history of what was typed.
  const [hasYaml, setHasYaml] = useState(view !== 'form');
  if (view !== 'form' && !hasYaml) setHasYaml(true);
  return (
    <div className={`draft ${view}`}>
      <div className="draft-form" hidden={view === 'yaml'}>
        {schema === 'none' ? (
          <p className="note">{texts.form.noSchema}</p>
        ) : schema === undefined || hints === undefined ? (
          <p role="status">{texts.loading}</p>
        ) : (
          <DraftForm
            key={attempt}
            model={model}
            schema={schema}
            hints={hints}
            draft={draft}
            onChange={onChange}
            causes={causes}
            readOnly={readOnly}
            onUnfinished={onUnfinished}
          />
        )}
      </div>
      <div className="draft-yaml" hidden={view === 'form'}>
        {hasYaml ? (
          <YamlEditor label={label} value={draft.text} onChange={(text) => onChange(typedDraft(text))} />
        ) : undefined}
      </div>
    </div>
  );
}

interface DraftFormProps extends Pick<DraftEditorProps, 'model' | 'draft' | 'onChange' | 'causes' | 'onUnfinished'> {
  schema: ModelSchema;
  hints: FieldHints;
  readOnly: readonly string[] | undefined;
}

function DraftForm({ model, schema, hints, draft, onChange, causes, readOnly, onUnfinished }: DraftFormProps) {
  // Typing in the YAML does not wait for the form; typing in the form shows at once.
  const deferred = useDeferredValue(draft);
  const newest = draft.object === undefined ? deferred : draft;
  const read = useMemo(() => {
    // What the form wrote keeps its parts, so that only what changed is rendered.
    if (newest.object !== undefined) return newest.object;
    try {
      const object = parseYaml(newest.text);
      return isObject(object) ? object : texts.editor.notObject;
    } catch (error) {
      if (error instanceof TextFault) return texts.editor.invalid(error.message);
      throw error;
    }
  }, [newest]);
  const hasStatus = model.hasStatusSubresource;
  // Kind and version are those of the page, and the status is not a person's.
  const own = useMemo(() => new Set(['apiVersion', 'kind', ...(hasStatus ? ['status'] : [])]), [hasStatus]);
  const shown = useMemo(() => {
    const { properties = {} } = schema.root;
    return { ...schema, root: { ...schema.root, properties: without(properties, own) } };
  }, [schema, own]);
  const value = useMemo(() => (typeof read === 'string' ? undefined : without(read, own)), [read, own]);
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  const change = (next: JsonValue | undefined): void => {
    if (typeof read === 'string') return;
    onChange(draftOf({ ...only(read, own, true), ...(isObject(next) ? next : {}), ...only(read, own, false) }));
  };
  return (
    <>
      {typeof read === 'string' ? (
        <p role="status" className="note warning">
          {read} {texts.form.waits}
        </p>
      ) : undefined}
      <div hidden={typeof read === 'string'}>
        <SchemaForm
          schema={shown}
          value={last.current}
          onChange={change}
          causes={causes}
          hints={hints}
          {...(readOnly === undefined ? {} : { readOnly })}
          onUnfinished={onUnfinished}
        />
      </div>
    </>
  );
}

function without<T>(object: Readonly<Record<string, T>>, names: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.has(name)));
}

/** The page's own fields: the status is last, the others are first. */
function only(object: JsonObject, names: ReadonlySet<string>, isFirst: boolean): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([name]) => names.has(name) && (name !== 'status') === isFirst),
  );
}
