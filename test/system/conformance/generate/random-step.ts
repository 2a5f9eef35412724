import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '../../../../pkg/apimachinery/index.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import type { StepRequest } from '../trace/trace.ts';
import { conformanceGroup } from './random-schema.ts';
import { randomMetadata, randomValue, type ValueOptions } from './random-value.ts';

export interface StepOptions {
  kind: string;
  name: string;
  /** The schema of spec and of status by version. */
  versions: Readonly<Record<string, JsonSchema>>;
  hasStatus: boolean;
  hasScale: boolean;
  /** How many managers there are of updates. */
  updaters: number;
  /** How likely a request is an apply. */
  applies: number;
  appliers: number;
}

/** One request to an object, or one that makes it. */
export function randomStep(random: SeededRandom, live: JsonObject | undefined, options: StepOptions): StepRequest {
  const version = random.pick(Object.keys(options.versions));
  const subresource = live !== undefined && options.hasStatus && random.chance(0.25) ? 'status' : '';
  const base = { version, subresource, dryRun: random.chance(0.05) } as const;
  const isApply = random.chance(options.applies);
  const manager = isApply ? applier(random, options.appliers) : `u${random.below(options.updaters)}`;
  const values: ValueOptions = { density: 0.5, mischief: random.chance(0.15) ? 0.15 : 0 };
  if (live !== undefined && options.hasScale && random.chance(0.15))
    return randomScaleStep(random, { ...base, subresource: 'scale', manager, name: options.name, isApply });
  const fresh = () => randomBody(random, version, subresource, options, values);
  if (isApply) {
    const body = fresh();
    if (random.chance(0.3) && live !== undefined) copySomeValues(random, body, live);
    return { ...base, verb: 'apply', manager, force: random.chance(0.4), body };
  }
  if (live === undefined || random.chance(0.03)) {
    const body = randomBody(random, version, '', options, values);
    if (random.chance(0.4)) annotateLastApplied(body, fresh());
    if (live === undefined && random.chance(0.2)) generateName(body, options.name);
    return { ...base, subresource: '', verb: 'create', manager, body };
  }
  return random.one<StepRequest>(
    () => ({ ...base, verb: 'replace', manager, body: replacement(random, live, fresh(), version) }),
    () => ({ ...base, verb: 'merge', manager, body: mergePatch(random, live, fresh()) }),
    () => ({ ...base, verb: 'json', manager, body: jsonPatch(random, live, fresh()) }),
  );
}

function generateName({ metadata }: JsonObject, name: string): void {
  delete (metadata as JsonObject)['name'];
  (metadata as JsonObject)['generateName'] = `${name}-`;
}

interface ScaleStepOptions extends Pick<StepRequest, 'version' | 'dryRun' | 'manager'> {
  subresource: 'scale';
  name: string;
  isApply: boolean;
}

function randomScaleStep(random: SeededRandom, { name, isApply, ...base }: ScaleStepOptions): StepRequest {
  const spec = { replicas: random.pick([1, 2, 2, 3, 0, 30, -1]) };
  const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name }, spec };
  if (isApply) return { ...base, verb: 'apply', force: random.chance(0.4), body };
  return random.one<StepRequest>(
    () => ({ ...base, verb: 'replace', body }),
    () => ({ ...base, verb: 'merge', body: { spec } }),
    () => ({ ...base, verb: 'json', body: [{ op: 'add', path: '/spec/replicas', value: spec.replicas }] }),
  );
}

function applier(random: SeededRandom, count: number): string {
  return random.chance(0.25) ? 'kubectl' : `a${random.below(count)}`;
}

function randomBody(
  random: SeededRandom,
  version: string,
  subresource: string,
  { kind, name, versions, hasStatus }: StepOptions,
  values: ValueOptions,
): JsonObject {
  const body: JsonObject = {
    apiVersion: `${conformanceGroup}/${version}`,
    kind,
    metadata: { name, ...(subresource === '' ? randomMetadata(random) : {}) },
  };
  const schema = versions[version]!;
  // What the endpoint does not change is well-formed: Kubernetes drops all managed fields if it is not.
  const valuesOf = (part: string) =>
    (part === 'status') === (subresource === 'status') ? values : { ...values, mischief: 0 };
  // Kubernetes does not know that the status of another version is reset, too.
  const strays = Object.keys(versions).length === 1 && random.chance(0.1);
  if (subresource === '' || strays) body['spec'] = randomValue(random, schema, valuesOf('spec')) ?? {};
  if (subresource === 'status' || strays || !hasStatus)
    body['status'] = randomValue(random, schema, hasStatus ? valuesOf('status') : values) ?? {};
  return body;
}

/** Takes over some of the live values, so that managers share them. */
function copySomeValues(random: SeededRandom, body: JsonObject, live: JsonObject): void {
  for (const part of ['spec', 'status']) {
    const [to, from] = [body[part], live[part]];
    if (!isJsonObject(to) || !isJsonObject(from)) continue;
    for (const key of Object.keys(from)) if (random.chance(0.5)) to[key] = from[key]!;
  }
}

function replacement(random: SeededRandom, live: JsonObject, fresh: JsonObject, version: string): JsonObject {
  const metadata = { ...(live['metadata'] as JsonObject) };
  const body: JsonObject = { ...live, apiVersion: `${conformanceGroup}/${version}`, metadata };
  for (const part of ['spec', 'status'])
    if (random.chance(0.6) && fresh[part] !== undefined)
      body[part] = random.chance(0.5) ? fresh[part] : mix(random, live[part], fresh[part]);
  if (random.chance(0.3)) Object.assign(metadata, randomMetadata(random));
  if (random.chance(0.15)) annotateLastApplied(body, random.chance(0.5) ? body : fresh);
  random.one(
    () => delete metadata['managedFields'],
    () => undefined,
    () => undefined,
    () => undefined,
    () => (metadata['managedFields'] = randomManagedFields(random, metadata['managedFields'])),
  );
  return body;
}

/** What `kubectl apply` on the client leaves. */
function annotateLastApplied(body: JsonObject, config: JsonObject): void {
  const metadata = body['metadata'] as JsonObject;
  const { name, labels } = config['metadata'] as JsonObject;
  const { status: _, epoch: _epoch, ...content } = config;
  const text = JSON.stringify({ ...content, metadata: { name, ...(labels === undefined ? {} : { labels }) } });
  metadata['annotations'] = {
    ...(metadata['annotations'] as JsonObject | undefined),
    'kubectl.kubernetes.io/last-applied-configuration': `${text}\n`,
  };
}

function mix(random: SeededRandom, from: JsonValue | undefined, to: JsonValue | undefined): JsonValue {
  if (!isJsonObject(from) || !isJsonObject(to)) return to ?? from ?? null;
  const result: JsonObject = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const side = random.chance(0.6) ? from : to;
    if (side[key] !== undefined) result[key] = side[key];
  }
  return result;
}

/** What clients write into `metadata.managedFields`: less, nothing, another manager, or what cannot be read. */
function randomManagedFields(random: SeededRandom, live: JsonValue | undefined): JsonValue {
  const entries = (Array.isArray(live) ? live : []) as JsonObject[];
  return random.one<JsonValue>(
    () => [],
    () => [{}],
    () => entries.slice(1),
    () => random.shuffled(entries),
    () => entries.map((entry, at) => (at === 0 ? { ...entry, manager: 'other', operation: 'Apply' } : entry)),
    () => entries.map((entry) => ({ ...entry, fieldsV1: { 'f:spec': { 'f:a': {}, '.': {} }, 'x:unknown': {} } })),
    () => entries.map((entry) => ({ ...entry, operation: 'Other' })),
    () => entries.map((entry) => ({ ...entry, fieldsV1: { 'f:spec': { 'k:{"p":"x","k":1.0}': {}, 'v:1.0': {} } } })),
  );
}

function mergePatch(random: SeededRandom, live: JsonObject, fresh: JsonObject): JsonObject {
  const { apiVersion: _, kind: _kind, metadata, ...content } = fresh;
  const { name: _name, ...others } = metadata as JsonObject;
  const patch: JsonObject = {
    ...(withoutNullsInLists(content) as JsonObject),
    ...(random.chance(0.5) ? { metadata: others } : {}),
  };
  for (const part of ['spec', 'status']) {
    const [value, liveValue] = [patch[part], live[part]];
    if (!isJsonObject(value) || !isJsonObject(liveValue)) continue;
    for (const key of Object.keys(liveValue)) if (random.chance(0.2)) value[key] = null;
  }
  if (random.chance(0.1))
    patch['metadata'] = {
      ...others,
      managedFields: randomManagedFields(random, (live['metadata'] as JsonObject)['managedFields']),
    };
  return patch;
}

/** RFC 7386 keeps members that are null within a list; Kubernetes removes them if the list is new. */
function withoutNullsInLists(value: JsonValue, isInList = false): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withoutNullsInLists(item, true));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null || !isInList)
      .map(([key, member]) => [key, withoutNullsInLists(member, isInList)]),
  );
}

function jsonPatch(random: SeededRandom, live: JsonObject, fresh: JsonObject): JsonValue {
  const managedFields = (live['metadata'] as JsonObject)['managedFields'];
  if (random.chance(0.25) && Array.isArray(managedFields) && managedFields.length > 0)
    return [{ op: 'replace', path: '/metadata/managedFields', value: randomManagedFields(random, managedFields) }];
  const operations: JsonObject[] = [];
  for (const part of ['spec', 'status']) {
    const [value, liveValue] = [fresh[part], live[part]];
    if (!isJsonObject(value) || !isJsonObject(liveValue)) continue;
    for (const [key, member] of Object.entries(value))
      if (random.chance(0.5)) operations.push({ op: 'add', path: `/${part}/${key}`, value: member });
    for (const key of Object.keys(liveValue))
      if (random.chance(0.2) && value[key] === undefined) operations.push({ op: 'remove', path: `/${part}/${key}` });
  }
  if (operations.length === 0)
    operations.push({ op: 'add', path: '/metadata/labels', value: { x: random.pick(['1', '2']) } });
  return operations;
}
