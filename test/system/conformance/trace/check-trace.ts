import { isDeepStrictEqual } from 'node:util';
import {
  ApplyConflict,
  applyJsonPatch,
  applyMergePatch,
  formatTimestamp,
  isJsonObject,
  parseTimestamp,
  StatusError,
  type ApiObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '../../../../pkg/apimachinery/index.ts';
import { applyResourceDefaults } from '../../../../pkg/apiserver/schema/apply-defaults.ts';
import { cloneJson } from '../../../../pkg/apiserver/schema/json-value.ts';
import { pruneResource } from '../../../../pkg/apiserver/schema/prune.ts';
import { FieldManager, newTypeSchema, TypedError } from '../../../../pkg/managedfields/index.ts';
import type { StepRequest, Trace } from './trace.ts';

/** A step whose answer is another than ours. */
export interface Difference {
  step: number;
  what: string;
  expected: unknown;
  actual: unknown;
}

/** Computes each step of a trace from the state before it, and compares the result with the recorded answer. */
export function checkTrace(trace: Trace): Difference[] {
  const differences: Difference[] = [];
  let model = new TraceModel(trace.definition);
  let { live } = trace;
  for (const [step, entry] of trace.steps.entries()) {
    if ('definition' in entry) {
      model = new TraceModel(entry.definition);
      continue;
    }
    const { request, status, answer } = entry;
    for (const difference of model.check(request, live, status, answer)) differences.push({ step, ...difference });
    if (status < 300 && !request.dryRun) live = answer;
  }
  return differences;
}

type StepDifference = Omit<Difference, 'step'>;

class TraceModel {
  readonly #group: string;
  readonly #schemas: ReadonlyMap<string, JsonSchema>;
  readonly #hasStatus: boolean;
  readonly #manager: FieldManager;

  constructor(definition: JsonObject) {
    const spec = definition['spec'] as unknown as {
      group: string;
      versions: { name: string; subresources?: { status?: object }; schema: { openAPIV3Schema: JsonSchema } }[];
    };
    this.#group = spec.group;
    this.#schemas = new Map(spec.versions.map(({ name, schema }) => [name, schema.openAPIV3Schema]));
    this.#hasStatus = spec.versions[0]!.subresources?.status !== undefined;
    this.#manager = new FieldManager({
      versions: new Map([...this.#schemas].map(([name, schema]) => [`${this.#group}/${name}`, newTypeSchema(schema)])),
      resetFields: this.#hasStatus ? { '': { reset: [['status']] }, status: { reset: [['metadata'], ['spec']] } } : {},
    });
  }

  check(request: StepRequest, stored: JsonObject | undefined, status: number, answer: JsonObject): StepDifference[] {
    const live = stored === undefined ? undefined : { ...stored, apiVersion: `${this.#group}/${request.version}` };
    const now = latestTime(answer) ?? latestTime(live ?? {}) ?? 0;
    if (request.verb === 'apply') return this.#checkApply(request, live, { status, answer, now });
    if (status >= 300 || this.#couldNotConvert(live, answer)) return [];
    const entries = this.#manager.update(live as ApiObject | undefined, answer as unknown as ApiObject, {
      manager: request.manager,
      subresource: request.subresource,
      now,
      requested: requestedFields(request, live),
    });
    return compare('managedFields', managedFieldsOf(answer), keepTimes(entries, answer, live));
  }

  /**
   * Kubernetes refuses to compare objects that do not fit the schema of another version, for example because a set there
   * is a list here and has an item twice; it drops all managed fields then.
   */
  #couldNotConvert(live: JsonObject | undefined, answer: JsonObject): boolean {
    return (
      this.#schemas.size > 1 &&
      live !== undefined &&
      isNotEmpty(managedFieldsOf(live)) &&
      !isNotEmpty(managedFieldsOf(answer))
    );
  }

  /** The same at an apply, which is answered with 500 then. */
  #hasFailed(status: number, answer: JsonObject): boolean {
    return (
      this.#schemas.size > 1 && status === 500 && !messageOf(answer).startsWith('failed to create typed patch object')
    );
  }

  #checkApply(
    request: StepRequest,
    live: JsonObject | undefined,
    { status, answer, now }: { status: number; answer: JsonObject; now: number },
  ): StepDifference[] {
    const { manager, subresource, force = false } = request;
    const body = cloneJson(request.body) as JsonObject;
    const wasBefore = JSON.stringify([live, body]);
    let result;
    try {
      result = this.#manager.apply(live as ApiObject | undefined, body as unknown as ApiObject, {
        manager,
        subresource,
        force,
        now,
      });
    } catch (error) {
      return this.#checkRefusal(error, status, answer);
    }
    if (JSON.stringify([live, body]) !== wasBefore)
      return [{ what: 'an argument was changed', expected: JSON.parse(wasBefore), actual: [live, body] }];
    if (status === 422 || this.#hasFailed(status, answer)) return [];
    if (status >= 300) return [{ what: 'a refusal', expected: answer, actual: result.object }];
    const object = this.#store(result.object as unknown as JsonObject, live, request);
    return [
      ...compare('object', comparable(answer), comparable(object)),
      ...compare(
        'managedFields',
        withOneTime(managedFieldsOf(answer), now),
        withOneTime(keepTimes(result.managedFields, object, live), now),
      ),
    ];
  }

  #checkRefusal(error: unknown, status: number, answer: JsonObject): StepDifference[] {
    if (error instanceof StatusError && this.#hasFailed(status, answer)) return [];
    if (!(error instanceof StatusError))
      return [{ what: 'an unexpected error', expected: answer, actual: String(error) }];
    if (error instanceof ApplyConflict) {
      const expected = [answer['message'], sortedCauses(answer['details'])];
      return compare('conflict', expected, [error.message, sortedCauses(error.toStatus().details)]);
    }
    const message = messageOf(answer);
    const isSame =
      error instanceof TypedError && status >= 400 && /failed to create typed|failed to convert/.test(message);
    // With several problems Kubernetes names them in the order of a Go map, and not all of them.
    if (!isSame) return [{ what: 'an error', expected: answer, actual: error.message }];
    return message.includes('errors:') || error.message.includes('errors:') || message === error.message
      ? []
      : compare('error', message, error.message);
  }

  /** What the server does with a merged object: the other subresource stays, unknown fields go, defaults come. */
  #store(merged: JsonObject, live: JsonObject | undefined, { subresource, version }: StepRequest): JsonObject {
    const schema = this.#schemas.get(version)!;
    let object = cloneJson(merged) as JsonObject;
    pruneResource(object, schema);
    applyResourceDefaults(object, schema);
    for (const part of ['spec', 'status']) fillEmbeddedMetadata(object[part]);
    if (!this.#hasStatus) return object;
    const status = subresource === 'status' ? object['status'] : live?.['status'];
    if (subresource === 'status') object = cloneJson(live!) as JsonObject;
    delete object['status'];
    if (status !== undefined) object['status'] = status;
    return object;
  }
}

/** The server gives an embedded object metadata if it has none. */
function fillEmbeddedMetadata(value: JsonValue | undefined): void {
  if (typeof value !== 'object' || value === null) return;
  if (isJsonObject(value) && value['metadata'] === null && value['kind'] === 'Part') value['metadata'] = {};
  for (const member of Object.values(value)) fillEmbeddedMetadata(member);
}

/** `metadata.managedFields` as the request has it, or the object after a patch. */
function requestedFields({ verb, body }: StepRequest, live: JsonObject | undefined): JsonValue | undefined {
  const object = verb === 'merge' ? applyMergePatch(live!, body) : verb === 'json' ? applyJsonPatch(live!, body) : body;
  const metadata = isJsonObject(object) ? object['metadata'] : undefined;
  const list = isJsonObject(metadata) ? metadata['managedFields'] : undefined;
  // Kubernetes drops an empty list of a custom resource before it looks at it; of its own kinds it resets the fields.
  return Array.isArray(list) && list.length === 0 ? undefined : list;
}

function messageOf({ message }: JsonObject): string {
  return typeof message === 'string' ? message : '';
}

function managedFieldsOf(object: JsonObject): JsonValue {
  return (object['metadata'] as JsonObject)['managedFields'] ?? [];
}

/** A write that changes nothing but times is none: the live entries stay. An empty list of metadata is a change. */
function keepTimes(entries: readonly JsonObject[], object: JsonObject, live: JsonObject | undefined): JsonValue {
  if (live === undefined || !isDeepStrictEqual(withoutServerFields(object), withoutServerFields(live)))
    return [...entries];
  const before = managedFieldsOf(live) as JsonObject[];
  return isDeepStrictEqual(entries.map(withoutTime), before.map(withoutTime)) ? before : [...entries];
}

function withoutTime(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => key !== 'time'));
}

/** Kubernetes reads the clock twice at a first apply. */
function withOneTime(entries: JsonValue, now: number): JsonValue {
  const before = formatTimestamp(now - 1000);
  return (entries as JsonObject[]).map((entry) =>
    entry['manager'] === 'before-first-apply' && entry['time'] === before
      ? { ...entry, time: formatTimestamp(now) }
      : entry,
  );
}

function isNotEmpty(list: JsonValue): boolean {
  return Array.isArray(list) && list.length > 0;
}

/** Milliseconds; the time that a step wrote is the latest of all. */
function latestTime(object: JsonObject): number | undefined {
  const entries = isJsonObject(object['metadata']) ? object['metadata']['managedFields'] : undefined;
  const times = ((entries ?? []) as JsonObject[]).flatMap(({ time }) =>
    typeof time === 'string' ? [parseTimestamp(time) ?? 0] : [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Without what only the server sets. An empty map or list of metadata is not stored. */
function comparable(object: JsonObject): JsonObject {
  const { metadata, ...content } = withoutServerFields(object);
  const kept = Object.entries(metadata as JsonObject).filter(([, value]) => JSON.stringify(value).length > 2);
  return { ...content, metadata: Object.fromEntries(kept) };
}

const serverFields = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'namespace',
]);

function withoutServerFields(object: JsonObject): JsonObject {
  const metadata = Object.entries(object['metadata'] as JsonObject).filter(([key]) => !serverFields.has(key));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

function sortedCauses(details: unknown): unknown {
  const { causes = [] } = (details ?? {}) as { causes?: { message: string; field: string }[] };
  return causes.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** Entries are compared with the order of their keys. */
function compare(what: string, expected: unknown, actual: unknown): StepDifference[] {
  const isEqual =
    what === 'managedFields'
      ? JSON.stringify(expected) === JSON.stringify(actual)
      : isDeepStrictEqual(JSON.parse(JSON.stringify(expected)), JSON.parse(JSON.stringify(actual)));
  return isEqual ? [] : [{ what, expected, actual }];
}
