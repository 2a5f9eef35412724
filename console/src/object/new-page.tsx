import type { AnyObject, Draft, JsonObject } from '@svc/client';
import { StatusError } from '@svc/client';
import { useEffect, useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { YamlEditor } from '../editor/yaml-editor.tsx';
import { TextFault, toYaml } from '../editor/yaml-text.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useShortcut } from '../interface/shortcuts.ts';
import { useUnsaved } from '../interface/unsaved.ts';
import { useTitle } from '../interface/use-title.ts';
import { useModelFacts } from '../list/model-facts.ts';
import { models } from '../server/discovery.ts';
import { missingRule } from '../server/missing-rule.ts';
import { apiVersionOf, resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { listLink, modelOfPath, objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { readText } from './editable-text.ts';

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
  const { definition, isKnown } = useModelFacts(model);
  const [text, setText] = useState<string | undefined>(undefined);
  const [start, setStart] = useState('');
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [created, setCreated] = useState<string | undefined>(undefined);
  const namespace = params.get('ns') ?? '';
  const may = usePermissions(namespace);
  const missing = may({ verb: 'create', model }) ? undefined : missingRule({ verb: 'create', model, namespace });
  useUnsaved(text !== undefined && text !== start && created === undefined);

  useEffect(() => {
    if (!isKnown || text !== undefined) return;
    const sample = toYaml(sampleObject(model, namespace, definition));
    setStart(sample);
    setText(sample);
  }, [isKnown, text, model, namespace, definition]);
  // Leaves when nothing is unsaved any more.
  useEffect(() => {
    if (created !== undefined) navigate(created);
  }, [created, navigate]);

  const create = async (): Promise<void> => {
    setFailure(undefined);
    setBusy(true);
    try {
      const [object, ...others] = readText(text!);
      const metadata = object?.['metadata'];
      if (object === undefined || others.length > 0 || typeof metadata !== 'object' || metadata === null)
        throw new TextFault(texts.editor.notObject);
      const stored = await resourceOf(model, namespace).create(object as unknown as Draft<AnyObject>);
      setCreated(objectLink(model, stored.metadata));
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  useShortcut('Control+s', () => {
    if (missing === undefined && !isBusy && text !== undefined) void create();
  });
  return (
    <div className="edit-panel">
      <p className="path">
        <Link href={listLink(model, namespace)}>{model.kind}</Link>
      </p>
      <h1>{texts.editor.newTitle(model.kind)}</h1>
      <div className="buttons">
        <ActionButton kind="primary" onAction={() => void create()} isDisabled={isBusy} missingRule={missing}>
          {texts.editor.create}
        </ActionButton>
      </div>
      {failure === undefined ? undefined : (
        <FailureNote failure={failure} title={failure instanceof StatusError ? texts.editor.causes : texts.failed} />
      )}
      {text === undefined ? (
        <p role="status">{texts.loading}</p>
      ) : (
        <YamlEditor label={texts.editor.newTitle(model.kind)} value={text} onChange={setText} />
      )}
    </div>
  );
}

interface OpenApiSchema {
  type?: string;
  default?: unknown;
  properties?: Record<string, OpenApiSchema>;
  required?: string[];
  enum?: unknown[];
}

/** What an object of the model needs at least, with its required fields. */
function sampleObject(model: ModelInfo, namespace: string, definition: JsonObject | undefined): JsonObject {
  const spec = (
    definition as { spec: { versions: { name: string; schema?: { openAPIV3Schema?: OpenApiSchema } }[] } } | undefined
  )?.spec.versions.find(({ name }) => name === model.version)?.schema?.openAPIV3Schema?.properties?.['spec'];
  return {
    apiVersion: apiVersionOf(model),
    kind: model.kind,
    metadata: { name: '', ...(model.namespaced ? { namespace: namespace === '' ? 'default' : namespace } : {}) },
    ...(spec === undefined ? {} : { spec: sampleValue(spec) as JsonObject }),
  };
}

function sampleValue(schema: OpenApiSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleValue(schema.properties?.[name] ?? {})]),
      );
    case 'array':
      return [];
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'string':
      return '';
    default:
      return null;
  }
}
