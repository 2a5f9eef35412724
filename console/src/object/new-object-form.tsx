import type { AnyObject, Draft, JsonObject, Stored } from '@svc/client';
import { useEffect, useState } from 'react';
import { TextFault } from '../editor/yaml-text.ts';
import { newValue } from '../form/form-field.ts';
import { useFieldHints } from '../form/use-field-hints.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useUnsaved } from '../interface/unsaved.ts';
import { missingRule } from '../server/missing-rule.ts';
import { apiVersionOf, resourceOf, type ModelInfo } from '../server/model-info.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { usePermissions } from '../server/permissions.ts';
import { useModelSchema } from '../server/use-model-schema.ts';
import { texts } from '../texts/texts.ts';
import { draftOf, isSameDraft, type EditorDraft } from './editor-draft.ts';
import { DraftEditor } from './draft-editor.tsx';
import { DraftProblems } from './draft-problems.tsx';
import { readDraft } from './editable-text.ts';
import type { EditorView } from './editor-tabs.tsx';
import { causesOf, draftNote, useServerCheck } from './use-server-check.ts';
import { useWarnings } from '../interface/use-warnings.ts';

interface NewObjectFormProps {
  model: ModelInfo;
  /** Empty: the default one, which the draft names. */
  namespace: string;
  view: EditorView;
  /** When nothing is unsaved any more. Keep it in a `useCallback`. */
  onCreated: (object: Stored<AnyObject>) => void;
  /** The only one of its page may take `Ctrl S`. Default false. */
  hasShortcut?: boolean;
}

/** A draft of a new object, which begins with its required fields, and what creates it. */
export function NewObjectForm({ model, namespace, view, onCreated, hasShortcut = false }: NewObjectFormProps) {
  const schema = useModelSchema(model);
  const hints = useFieldHints(model);
  const [draft, setDraft] = useState<EditorDraft | undefined>(undefined);
  const [start, setStart] = useState<EditorDraft | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [unfinished, setUnfinished] = useState(0);
  const [created, setCreated] = useState<Stored<AnyObject> | undefined>(undefined);
  const may = usePermissions(namespace);
  const missing = may({ verb: 'create', model }) ? undefined : missingRule({ verb: 'create', model, namespace });
  const isChanged = draft !== undefined && start !== undefined && !isSameDraft(draft, start);
  useUnsaved((isChanged || unfinished > 0) && created === undefined);
  const { warnings, noteWarnings } = useWarnings();
  const isWaiting = !isChanged || isBusy || unfinished > 0 || missing !== undefined || created !== undefined;
  const check = useServerCheck(isWaiting ? undefined : draft, (signal) => {
    const object = newObject(draft!);
    return noteWarnings((warn) => resourceOf(model, namespace).create(object, { dryRun: true, signal, warn }));
  });

  useEffect(() => {
    if (schema === undefined || start !== undefined) return;
    const sample = draftOf(sampleObject(model, namespace, schema));
    setStart(sample);
    setDraft(sample);
  }, [schema, start, model, namespace]);
  useEffect(() => {
    if (created !== undefined) onCreated(created);
  }, [created, onCreated]);

  const create = async (): Promise<void> => {
    setFailure(undefined);
    setBusy(true);
    try {
      const object = newObject(draft!);
      setCreated(await noteWarnings((warn) => resourceOf(model, namespace).create(object, { warn })));
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const mayCreate = missing === undefined && !isBusy && unfinished === 0 && draft !== undefined;
  return (
    <>
      {hasShortcut ? <SaveKey onSave={() => (mayCreate ? void create() : undefined)} /> : undefined}
      <div className="buttons">
        <ActionButton
          kind="primary"
          onAction={() => void create()}
          isDisabled={isBusy || unfinished > 0}
          missingRule={missing}
        >
          {texts.editor.create}
        </ActionButton>
        <span role="status">{isChanged ? draftNote({ isChanged, unfinished, check }) : ''}</span>
      </div>
      <DraftProblems failure={failure} warnings={isChanged ? warnings : []} />
      {draft === undefined ? (
        <p role="status">{texts.loading}</p>
      ) : (
        <DraftEditor
          model={model}
          schema={schema}
          hints={hints}
          view={view}
          label={texts.editor.newTitle(model.kind)}
          draft={draft}
          onChange={(next) => {
            setDraft(next);
            setFailure(undefined);
          }}
          causes={failure === undefined ? check.causes : causesOf(failure)}
          onUnfinished={setUnfinished}
        />
      )}
    </>
  );
}

function SaveKey({ onSave }: { onSave: () => void }) {
  useShortcut('Control+s', onSave);
  return undefined;
}

/** @throws TextFault if the draft is not one object */
function newObject(draft: EditorDraft): Draft<AnyObject> {
  const [object, ...others] = readDraft(draft);
  const metadata = object?.['metadata'];
  if (object === undefined || others.length > 0 || typeof metadata !== 'object' || metadata === null)
    throw new TextFault(texts.editor.notObject);
  return object as unknown as Draft<AnyObject>;
}

/** What an object of the model needs at least, with its required fields. */
function sampleObject(model: ModelInfo, namespace: string, schema: ModelSchema | 'none'): JsonObject {
  const spec = schema === 'none' ? undefined : schema.root.properties?.['spec'];
  return {
    apiVersion: apiVersionOf(model),
    kind: model.kind,
    metadata: { name: '', ...(model.namespaced ? { namespace: namespace === '' ? 'default' : namespace } : {}) },
    ...(schema === 'none' || spec === undefined ? {} : { spec: newValue(spec, schema.shared) }),
  };
}
