import type { AnyObject, Draft, JsonObject } from '@svc/client';
import { StatusError } from '@svc/client';
import { useEffect, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { TextFault, toYaml } from '../editor/yaml-text.ts';
import { newValue } from '../form/form-field.ts';
import { useFieldHints } from '../form/use-field-hints.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useUnsaved } from '../interface/unsaved.ts';
import { useTitle } from '../interface/use-title.ts';
import { models } from '../server/discovery.ts';
import { missingRule } from '../server/missing-rule.ts';
import { apiVersionOf, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { usePermissions } from '../server/permissions.ts';
import { warnings } from '../server/server.ts';
import { useModelSchema } from '../server/use-model-schema.ts';
import { listLink, modelOfPath, objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { DraftEditor, type WrittenText } from './draft-editor.tsx';
import { readText } from './editable-text.ts';
import { EditorTabs, editorView } from './editor-tabs.tsx';
import { causesOf, draftNote, useServerCheck } from './use-server-check.ts';

export default function NewPage({ group, plural }: { group: string; plural: string }) {
  useObservable(models);
  const model = modelOfPath(group, plural);
  if (model === undefined) return <p role="alert">{texts.list.unknown(`${plural}.${group}`)}</p>;
  return <NewObject model={model} />;
}

function NewObject({ model }: { model: ModelInfo }) {
  useTitle(texts.editor.newTitle(model.kind));
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const schema = useModelSchema(model);
  const hints = useFieldHints(model);
  const view = editorView(params.get('tab')) ?? 'both';
  const [text, setText] = useState<string | undefined>(undefined);
  const [start, setStart] = useState<WrittenText>({ text: '', object: {} });
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [unfinished, setUnfinished] = useState(0);
  const [created, setCreated] = useState<string | undefined>(undefined);
  const namespace = params.get('ns') ?? '';
  const may = usePermissions(namespace);
  const missing = may({ verb: 'create', model }) ? undefined : missingRule({ verb: 'create', model, namespace });
  const isChanged = text !== undefined && text !== start.text;
  useUnsaved((isChanged || unfinished > 0) && created === undefined);
  const warned = useObservable(warnings);
  const isWaiting = !isChanged || isBusy || unfinished > 0 || missing !== undefined || created !== undefined;
  const check = useServerCheck(isWaiting ? undefined : text, (signal) => {
    const draft = readDraft(text!);
    warnings.set([]);
    return resourceOf(model, namespace).create(draft, { dryRun: true, signal });
  });

  useEffect(() => {
    if (schema === undefined || text !== undefined) return;
    const object = sampleObject(model, namespace, schema);
    const sample = toYaml(object);
    setStart({ text: sample, object });
    setText(sample);
  }, [schema, text, model, namespace]);
  // Leaves when nothing is unsaved any more.
  useEffect(() => {
    if (created !== undefined) navigate(created);
  }, [created, navigate]);

  const create = async (): Promise<void> => {
    setFailure(undefined);
    setBusy(true);
    try {
      warnings.set([]);
      const stored = await resourceOf(model, namespace).create(readDraft(text!));
      setCreated(objectLink(model, stored.metadata));
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  useShortcut('Control+s', () => {
    if (missing === undefined && !isBusy && unfinished === 0 && text !== undefined) void create();
  });
  return (
    <div className="edit-panel">
      <p className="path">
        <Link href={listLink(model, namespace)}>{model.kind}</Link>
      </p>
      <h1>{texts.editor.newTitle(model.kind)}</h1>
      <nav className="tabs" aria-label={texts.object.tabs}>
        <EditorTabs view={view} />
      </nav>
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
      {failure === undefined ? undefined : (
        <FailureNote failure={failure} title={failure instanceof StatusError ? texts.editor.causes : texts.failed} />
      )}
      {warned.map((warning) => (
        <p key={warning} role="alert" className="note warning">
          {warning}
        </p>
      ))}
      {text === undefined ? (
        <p role="status">{texts.loading}</p>
      ) : (
        <DraftEditor
          model={model}
          schema={schema}
          hints={hints}
          known={start}
          view={view}
          label={texts.editor.newTitle(model.kind)}
          text={text}
          onChange={(next) => {
            setText(next);
            setFailure(undefined);
          }}
          causes={failure === undefined ? check.causes : causesOf(failure)}
          onUnfinished={setUnfinished}
        />
      )}
    </div>
  );
}

/** @throws TextFault if the text is not one object */
function readDraft(text: string): Draft<AnyObject> {
  const [object, ...others] = readText(text);
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
