import { isStatusError, type AnyObject, type JsonObject, type JsonValue, type Stored } from '@svc/client';
import { definitionInfo, findModel, readModels } from '../server/discovery.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { editableText } from '../object/editable-text.ts';
import { texts } from '../texts/texts.ts';

/** One object of the files, and what applying it does, or did. */
export interface AppliedObject {
  readonly object: JsonObject;
  /** `Post default/hello`, or where it is in the text. */
  readonly title: string;
  /** `waiting`: what it needs is in the files, so that it cannot be checked before that is applied. */
  readonly state: 'create' | 'change' | 'same' | 'waiting' | 'failed' | 'applied';
  /** The texts of what is stored, and of what will be. */
  readonly before: string;
  readonly after: string;
  readonly failure?: unknown;
  /** What the server warned of in its last answer. */
  readonly warnings?: readonly string[];
}

interface Named extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: JsonObject & { name: string };
}

export interface ForceOption {
  /** Take over fields that others manage, instead of a conflict. */
  force: boolean;
}

/** How far work on many objects is, and when it stops. */
export interface RunOptions extends ForceOption {
  /** After it no further one begins. */
  signal: AbortSignal;
  onResult: (index: number, result: AppliedObject) => void;
}

const concurrentChecks = 4;

/**
 * Asks the server what applying each object would do; nothing is stored. `objects` are in the order in which they will
 * be applied.
 */
export async function checkObjects(
  objects: readonly JsonObject[],
  { signal, onResult, force }: RunOptions,
): Promise<void> {
  const needed = objects.filter(({ kind }) => kind === 'Namespace' || kind === definitionInfo.kind);
  const waiting = objects.entries();
  const work = async (): Promise<void> => {
    for (const [at, object] of waiting) {
      if (signal.aborted) return;
      onResult(at, await checkObject(object, at, { force, all: needed }));
    }
  };
  await Promise.all(Array.from({ length: concurrentChecks }, work));
}

async function checkObject(
  object: JsonObject,
  at: number,
  { force, all }: ForceOption & { all: readonly JsonObject[] },
): Promise<AppliedObject> {
  const result = { object, title: titleOf(object, at), before: '', after: '' };
  if (!isNamed(object)) return { ...result, state: 'failed', failure: new Error(texts.editor.notObject) };
  const model = findModel(object.apiVersion, object.kind);
  if (model === undefined) {
    return all.some((each) => defines(each, object))
      ? { ...result, state: 'waiting' }
      : { ...result, state: 'failed', failure: new Error(texts.apply.noModel(object.apiVersion, object.kind)) };
  }
  try {
    const stored = await readStored(model, object);
    const { applied, warnings } = await apply(model, object, { force, dryRun: true });
    const before = stored === undefined ? '' : editableText(model, stored);
    const after = editableText(model, applied);
    const state = stored === undefined ? 'create' : before === after ? 'same' : 'change';
    return { ...result, before, after, state, warnings };
  } catch (failure) {
    const namespace = object.metadata['namespace'];
    const isLater = isStatusError(failure, 'NotFound') && all.some((each) => isNamespace(each, namespace));
    return isLater ? { ...result, state: 'waiting' } : { ...result, state: 'failed', failure };
  }
}

/** Applies those that are not, one after the other. An object of a new definition waits until it is served. */
export async function applyObjects(
  objects: readonly AppliedObject[],
  { signal, onResult, force }: RunOptions,
): Promise<void> {
  for (const [index, each] of objects.entries()) {
    if (signal.aborted) return;
    const { object } = each;
    if (each.state === 'applied' || !isNamed(object)) continue;
    try {
      const known = findModel(object.apiVersion, object.kind);
      const model = known ?? (each.state === 'waiting' ? await servedModel(object) : undefined);
      if (model === undefined) throw new Error(texts.apply.noModel(object.apiVersion, object.kind));
      const { warnings } = await apply(model, object, { force, dryRun: false });
      onResult(index, { ...each, state: 'applied', warnings });
    } catch (failure) {
      onResult(index, { ...each, state: 'failed', failure, warnings: [] });
    }
  }
}

const servedTries = 20;
const servedPauseMs = 250;

/** A definition is served a moment after it was stored. Undefined if it still is not after some seconds. */
async function servedModel({ apiVersion, kind }: Named): Promise<ModelInfo | undefined> {
  for (let tries = 0; tries < servedTries; tries += 1) {
    await readModels();
    const model = findModel(apiVersion, kind);
    if (model !== undefined) return model;
    await new Promise((resolve) => {
      setTimeout(resolve, servedPauseMs);
    });
  }
  return undefined;
}

async function readStored(model: ModelInfo, { metadata }: Named): Promise<Stored<AnyObject> | undefined> {
  try {
    return await resourceOf(model).get(placeOf(model, metadata));
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function apply(
  model: ModelInfo,
  object: Named,
  options: { force: boolean; dryRun: boolean },
): Promise<{ applied: Stored<AnyObject>; warnings: string[] }> {
  const metadata = { ...object.metadata, ...placeOf(model, object.metadata) };
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  return { applied: await resourceOf(model).apply({ ...object, metadata }, { ...options, warn }), warnings };
}

/** An object without a namespace is one of `default`, as for kubectl. */
function placeOf({ namespaced }: ModelInfo, metadata: Named['metadata']): { name: string; namespace?: string } {
  const { name, namespace } = metadata;
  if (!namespaced) return { name };
  return { name, namespace: typeof namespace === 'string' ? namespace : 'default' };
}

/** What others need comes first: namespaces, then definitions. A `List` is its members. */
export function inOrder(objects: readonly JsonObject[]): JsonObject[] {
  const rank = ({ kind }: JsonObject): number => (kind === 'Namespace' ? 0 : kind === definitionInfo.kind ? 1 : 2);
  return objects.flatMap(membersOf).toSorted((a, b) => rank(a) - rank(b));
}

/** The objects of a `List`, as kubectl writes it. */
function membersOf(object: JsonObject): JsonObject[] {
  const { kind, items } = object;
  return kind === 'List' && Array.isArray(items) ? items.filter(isObject) : [object];
}

function isNamespace({ kind, metadata }: JsonObject, name: JsonValue | undefined): boolean {
  return kind === 'Namespace' && isObject(metadata) && metadata['name'] === name;
}

function defines(definition: JsonObject, { apiVersion, kind }: Named): boolean {
  if (definition['kind'] !== definitionInfo.kind) return false;
  const { spec } = definition as { spec?: { group?: string; names?: { kind?: string } } };
  return spec?.names?.kind === kind && apiVersion.startsWith(`${spec?.group}/`);
}

function isNamed(object: JsonObject): object is Named {
  const { apiVersion, kind, metadata } = object;
  return (
    typeof apiVersion === 'string' &&
    typeof kind === 'string' &&
    isObject(metadata) &&
    typeof metadata['name'] === 'string'
  );
}

function titleOf(object: JsonObject, at: number): string {
  if (!isNamed(object)) return texts.apply.document(at + 1);
  const { name, namespace } = object.metadata;
  return `${object.kind} ${typeof namespace === 'string' ? `${namespace}/` : ''}${name}`;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
