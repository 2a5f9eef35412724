import {
  fieldError,
  isJsonObject,
  newBadRequest,
  newInvalid,
  type GroupVersionKind,
  type JsonObject,
  type JsonValue,
  type ScaleSubresource,
} from '#pkg/apimachinery/index';
import type { ObjectText } from './served-resource.ts';

/** Source: autoscaling/v1. */
export const scaleKind: GroupVersionKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

const maxReplicas = 2 ** 31 - 1;

/** The Scale of an object; `spec.replicas` is absent where the object has none. */
export function scaleOf(object: JsonObject, paths: ScaleSubresource): JsonObject {
  const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const shown: JsonObject = {};
  for (const name of ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp']) {
    if (Object.hasOwn(metadata, name)) shown[name] = metadata[name]!;
  }
  const wanted = valueAt(object, paths.specReplicasPath);
  const present = valueAt(object, paths.statusReplicasPath);
  const selector = paths.labelSelectorPath === undefined ? undefined : valueAt(object, paths.labelSelectorPath);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: shown,
    spec: isReplicas(wanted) ? { replicas: wanted } : {},
    status: { replicas: isReplicas(present) ? present : 0, ...(typeof selector === 'string' ? { selector } : {}) },
  };
}

/** The Scale of an object, for a response. @throws StatusError 400 where the object has no replicas. */
export function scaleText({ text }: Pick<ObjectText, 'text'>, paths: ScaleSubresource): ObjectText {
  const scale = scaleOf(JSON.parse(text) as JsonObject, paths);
  if (!Object.hasOwn(scale['spec'] as JsonObject, 'replicas'))
    throw newBadRequest(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`);
  return { text: JSON.stringify(scale), managed: '' };
}

/**
 * Sets the replicas of a Scale on the object; absent replicas count as 0, because Go omits 0. A resourceVersion or uid
 * in the Scale becomes the object's, as a precondition; without them there is none. Changes `object`.
 * @throws StatusError 422 for replicas that are no number from 0 to 2^31 - 1
 */
export function scaled(object: JsonObject, scale: JsonObject, paths: ScaleSubresource): JsonObject {
  const metadata = isJsonObject(scale['metadata']) ? scale['metadata'] : {};
  const spec = scale['spec'] ?? {};
  const replicas = isJsonObject(spec) ? (spec['replicas'] ?? 0) : spec;
  if (!isReplicas(replicas)) {
    const cause = fieldError.invalid('spec.replicas', replicas, `must be an integer between 0 and ${maxReplicas}`);
    throw newInvalid(scaleKind, typeof metadata['name'] === 'string' ? metadata['name'] : '', [cause]);
  }
  setValueAt(object, paths.specReplicasPath, replicas);
  const { resourceVersion = '', uid = '' } = metadata;
  const own = object['metadata'] as JsonObject;
  if (uid !== '') own['uid'] = uid;
  if (resourceVersion === '') delete own['resourceVersion'];
  else own['resourceVersion'] = resourceVersion;
  return object;
}

function isReplicas(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxReplicas;
}

/** `path` has the form `.spec.replicas`: only names. */
function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of path.split('.').slice(1)) {
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}

function setValueAt(object: JsonObject, path: string, value: JsonValue): void {
  const names = path.split('.').slice(1);
  const last = names.pop();
  if (last === undefined) return;
  let parent = object;
  for (const name of names) {
    const child = Object.hasOwn(parent, name) ? parent[name] : undefined;
    const next: JsonObject = isJsonObject(child) ? child : {};
    parent[name] = next;
    parent = next;
  }
  parent[last] = value;
}
