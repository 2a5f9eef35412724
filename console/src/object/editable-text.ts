import type { AnyObject, JsonObject, Stored } from '@svc/client';
import { parseObjects, TextFault, toYaml } from '../editor/yaml-text.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { texts } from '../texts/texts.ts';
import type { EditorDraft } from './editor-draft.ts';

/** The server sets these, whatever a text says. */
const serverFields = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

/** The YAML of what a person can change. */
export function editableText(model: ModelInfo, object: AnyObject): string {
  return toYaml(editableObject(model, object));
}

/** What a person can change. */
export function editableObject(model: ModelInfo, object: AnyObject): JsonObject {
  const { metadata, ...others } = structuredClone(object) as unknown as JsonObject & { metadata: JsonObject };
  const { apiVersion, kind, ...content } = others;
  if (model.hasStatusSubresource) delete content['status'];
  for (const field of serverFields) delete metadata[field];
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    metadata,
    ...content,
  };
}

/**
 * The object that the draft describes, with what the server set in `base`.
 * @throws TextFault if it is no object, or another one
 */
export function readEditable(model: ModelInfo, draft: EditorDraft, base: Stored<AnyObject>): Stored<AnyObject> {
  const [object, ...others] = readDraft(draft);
  if (object === undefined || others.length > 0) throw new TextFault(texts.editor.notObject);
  const metadata = object['metadata'] as JsonObject | undefined;
  const { name, namespace } = base.metadata;
  if (typeof metadata !== 'object' || metadata === null) throw new TextFault(texts.editor.notObject);
  if (object['kind'] !== model.kind || metadata['name'] !== name || (metadata['namespace'] ?? namespace) !== namespace)
    throw new TextFault(texts.editor.otherObject(model.kind, name));
  const set = Object.entries(base.metadata).filter(([field]) => serverFields.includes(field));
  const { status } = base as unknown as { status?: unknown };
  return {
    ...object,
    metadata: { ...metadata, ...structuredClone(Object.fromEntries(set)) },
    ...(model.hasStatusSubresource && status !== undefined ? { status: structuredClone(status) } : {}),
  } as unknown as Stored<AnyObject>;
}

/** Copies of what it means. @throws TextFault with the place of the fault */
export function readDraft(draft: EditorDraft): JsonObject[] {
  return draft.object === undefined ? readText(draft.text) : [structuredClone(draft.object)];
}

/** @throws TextFault with the place of the fault */
export function readText(text: string): JsonObject[] {
  try {
    return parseObjects(text);
  } catch (error) {
    if (error instanceof TextFault) throw new TextFault(texts.editor.invalid(error.message), { cause: error });
    throw error;
  }
}
