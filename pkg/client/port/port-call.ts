import {
  isJsonObject,
  newBadRequest,
  type AnyObject,
  type ApplyConfiguration,
  type ApplyOptions,
  type DeleteOptions,
  type Fence,
  type JsonObject,
  type ListOptions,
  type ObjectKey,
  type Patch,
  type ResourceType,
  type WatchOptions,
} from '#pkg/apimachinery/index';

export const verbs = [
  'get',
  'list',
  'create',
  'update',
  'updateStatus',
  'patch',
  'patchStatus',
  'apply',
  'applyStatus',
  'delete',
  'watch',
] as const;

/** The options of all verbs; each verb uses its own. */
export type PortCallOptions = DeleteOptions &
  ApplyOptions &
  Omit<ListOptions, 'signal'> &
  Pick<WatchOptions, 'resourceVersion'>;

/** A call from the other side. */
export interface PortCall {
  verb: (typeof verbs)[number];
  type: ResourceType;
  key: ObjectKey;
  object: AnyObject;
  configuration: ApplyConfiguration;
  patch: Patch;
  options: PortCallOptions;
  /** Initial number of events that a watch may send. */
  grant: number;
}

const fieldValidations = ['Ignore', 'Warn', 'Strict'] as const;
const patchTypes = ['merge', 'json', 'strategic'] as const;
const propagationPolicies = ['Background', 'Foreground', 'Orphan'] as const;
const noKey: ObjectKey = { namespace: '', name: '' };

/** Parses a worker's message as untrusted data. @throws StatusError 400 for an invalid call */
export function parsePortCall(value: unknown): PortCall {
  const call = objectOf(value, 'the call');
  const verb = oneOf(call['verb'], verbs, 'verb');
  if (verb === undefined) throw newMalformed('verb');
  return {
    verb,
    type: readType(objectOf(call['type'], 'type')),
    key: call['key'] === undefined ? noKey : readKey(objectOf(call['key'], 'key')),
    object: readObject(['create', 'update', 'updateStatus'].includes(verb), call['object'], 'object'),
    configuration: readObject(['apply', 'applyStatus'].includes(verb), call['configuration'], 'configuration'),
    patch: readPatch(verb, call['patch']),
    options: readOptions(call['options'] === undefined ? {} : objectOf(call['options'], 'options')),
    grant: countOf(call['grant'], 'grant') ?? 0,
  };
}

function readType(type: JsonObject): ResourceType {
  const [group, version, kind, plural] = ['group', 'version', 'kind', 'plural'].map((field) =>
    textOf(type[field], field),
  );
  if (group === undefined || version === undefined || kind === undefined || plural === undefined)
    throw newMalformed('type');
  return {
    group,
    version,
    kind,
    plural,
    namespaced: flagOf(type['namespaced'], 'namespaced') ?? false,
    hasStatusSubresource: flagOf(type['hasStatusSubresource'], 'hasStatusSubresource') ?? false,
  };
}

function readKey({ namespace, name }: JsonObject): ObjectKey {
  return { namespace: textOf(namespace, 'namespace') ?? '', name: textOf(name, 'name') ?? '' };
}

const noObject: AnyObject = { apiVersion: '', kind: '', metadata: { name: '' } };

function readObject(isNeeded: boolean, value: unknown, field: string): AnyObject {
  if (!isNeeded) return noObject;
  const object = objectOf(value, field);
  const metadata = objectOf(object['metadata'], 'metadata');
  textOf(metadata['name'], 'metadata.name');
  textOf(metadata['namespace'], 'metadata.namespace');
  return object as unknown as AnyObject;
}

function readPatch(verb: string, value: unknown): Patch {
  if (!['patch', 'patchStatus'].includes(verb)) return { type: 'merge', patch: {} };
  const { type, patch } = objectOf(value, 'patch');
  const known = oneOf(type, patchTypes, 'patch.type');
  if (known === undefined || patch === undefined) throw newMalformed('patch');
  return { type: known, patch } as Patch;
}

function readOptions(given: JsonObject): PortCallOptions {
  const { sort, fence } = given;
  if (sort !== undefined && !(Array.isArray(sort) && sort.every((key) => typeof key === 'string')))
    throw newMalformed('sort');
  const options = {
    namespace: textOf(given['namespace'], 'namespace'),
    labelSelector: textOf(given['labelSelector'], 'labelSelector'),
    fieldSelector: textOf(given['fieldSelector'], 'fieldSelector'),
    sort,
    limit: countOf(given['limit'], 'limit'),
    continue: textOf(given['continue'], 'continue'),
    uid: textOf(given['uid'], 'uid'),
    dryRun: flagOf(given['dryRun'], 'dryRun'),
    fieldValidation: oneOf(given['fieldValidation'], fieldValidations, 'fieldValidation'),
    fieldManager: textOf(given['fieldManager'], 'fieldManager'),
    force: flagOf(given['force'], 'force'),
    propagationPolicy: oneOf(given['propagationPolicy'], propagationPolicies, 'propagationPolicy'),
    fence: fence === undefined ? undefined : readFence(objectOf(fence, 'fence')),
    resourceVersion: textOf(given['resourceVersion'], 'resourceVersion'),
    omitManagedFields: flagOf(given['omitManagedFields'], 'omitManagedFields'),
  };
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as PortCallOptions;
}

function readFence(fence: JsonObject): Fence {
  const [namespace, lease, transitions] = [
    textOf(fence['namespace'], 'fence'),
    textOf(fence['lease'], 'fence'),
    countOf(fence['transitions'], 'fence'),
  ];
  if (namespace === undefined || lease === undefined || transitions === undefined) throw newMalformed('fence');
  return { namespace, lease, transitions };
}

function objectOf(value: unknown, field: string): JsonObject {
  if (!isJsonObject(value)) throw newMalformed(field);
  return value;
}

function textOf(value: unknown, field: string): string | undefined {
  if (value !== undefined && typeof value !== 'string') throw newMalformed(field);
  return value;
}

function flagOf(value: unknown, field: string): boolean | undefined {
  if (value !== undefined && typeof value !== 'boolean') throw newMalformed(field);
  return value;
}

function countOf(value: unknown, field: string): number | undefined {
  if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0)) throw newMalformed(field);
  return value as number | undefined;
}

function oneOf<const Known extends string>(value: unknown, known: readonly Known[], field: string): Known | undefined {
  if (value !== undefined && !known.includes(value as Known)) throw newMalformed(field);
  return value as Known | undefined;
}

function newMalformed(field: string): Error {
  return newBadRequest(`the message is not a call of this API: ${field}`);
}
