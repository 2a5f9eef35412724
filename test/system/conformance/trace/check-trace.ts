import { isDeepStrictEqual } from 'node:util';
import {
  ApplyConflict,
  applyJsonPatch,
  applyMergePatch,
  formatTimestamp,
  isJsonObject,
  parseTimestamp,
  runSync,
  StatusError,
  type ApiObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '../../../../pkg/apimachinery/index.ts';
import { applyResourceDefaults } from '../../../../pkg/apiserver/schema/apply-defaults.ts';
import { cloneJson } from '../../../../pkg/apiserver/schema/json-value.ts';
import { pruneResource } from '../../../../pkg/apiserver/schema/prune.ts';
import { modelFromDefinition, type CustomResourceDefinition } from '../../../../pkg/apis/index.ts';
import { FieldTracker } from '../../../../pkg/apiserver/registry/model/field-tracker.ts';
import type { JsonApiObject } from '../../../../pkg/apiserver/rest/strategy.ts';
import { FieldManager, newTypeSchema, TypedError } from '../../../../pkg/managedfields/index.ts';
import { scalePaths } from '../generate/random-schema.ts';
import {
  comparable,
  countsUnstoredNull,
  failedToConvert,
  failedToConvertScale,
  hasEntryTwice,
  lostAncientChanges,
  lostManagedFields,
  managedFieldsOf,
  messageOf,
  rewritesKeptReplicas,
  sortedCauses,
  withoutServerFields,
} from './answer-fields.ts';
import { objectAfter, type Difference, type StepAnswer, type StepRequest, type Trace } from './trace.ts';

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
    const { request } = entry;
    for (const difference of model.check(request, live, entry)) differences.push({ step, ...difference });
    live = objectAfter(live, request, entry);
  }
  return differences;
}

type StepDifference = Omit<Difference, 'step'>;

class TraceModel {
  readonly #group: string;
  readonly #schemas: ReadonlyMap<string, JsonSchema>;
  readonly #hasStatus: boolean;
  readonly #hasVersions: boolean;
  readonly #manager: FieldManager;
  /** By version. */
  readonly #trackers: ReadonlyMap<string, FieldTracker>;

  constructor(definition: JsonObject) {
    const spec = definition['spec'] as unknown as {
      group: string;
      versions: { name: string; subresources?: { status?: object }; schema: { openAPIV3Schema: JsonSchema } }[];
    };
    this.#group = spec.group;
    this.#schemas = new Map(spec.versions.map(({ name, schema }) => [name, schema.openAPIV3Schema]));
    this.#hasStatus = spec.versions[0]!.subresources?.status !== undefined;
    this.#hasVersions = spec.versions.length > 1;
    this.#manager = new FieldManager({
      versions: new Map([...this.#schemas].map(([name, schema]) => [`${this.#group}/${name}`, newTypeSchema(schema)])),
      resetFields: this.#hasStatus ? { '': { reset: [['status']] }, status: { reset: [['metadata'], ['spec']] } } : {},
    });
    const model = modelFromDefinition(definition as unknown as CustomResourceDefinition);
    this.#trackers = new Map(model.versions.map((version) => [version.name, new FieldTracker(model, version)]));
  }

  check(request: StepRequest, stored: JsonObject | undefined, recorded: StepAnswer): StepDifference[] {
    const { status, answer } = recorded;
    const live = stored === undefined ? undefined : { ...stored, apiVersion: `${this.#group}/${request.version}` };
    if (request.subresource === 'scale') return this.#checkScale(request, live!, recorded);
    const now = latestTime(answer) ?? latestTime(live ?? {}) ?? 0;
    if (request.verb === 'apply') return this.#checkApply(request, live, { status, answer, now });
    if (status >= 300 || (this.#hasVersions && lostManagedFields(live, answer))) return [];
    const entries = this.#manager.update(live as ApiObject | undefined, answer as unknown as ApiObject, {
      manager: request.manager,
      subresource: request.subresource,
      now,
      requested: requestedFields(request, live),
    });
    if (lostAncientChanges(live, answer)) return [];
    return compare('managedFields', managedFieldsOf(answer), keepTimes(entries, answer, live));
  }

  /** At `/scale`, whose managed fields belong to a handler of their own. Of a dry run the object is not known. */
  #checkScale(request: StepRequest, live: JsonObject, { status, answer, scaled }: StepAnswer): StepDifference[] {
    const { verb, manager, force = false, version, dryRun } = request;
    if (dryRun || failedToConvertScale('scale', status) || (status >= 300 && verb !== 'apply')) return [];
    if (rewritesKeptReplicas(request, live, scaled) || (scaled !== undefined && hasEntryTwice(scaled))) return [];
    const tracker = this.#trackers.get(version)!;
    const paths = scalePaths;
    const object = (scaled ?? {}) as JsonApiObject;
    let entries;
    try {
      entries =
        verb === 'apply'
          ? runSync(
              tracker.applyingScale(live as JsonApiObject, cloneJson(request.body) as JsonApiObject, {
                manager,
                force,
                paths,
              }),
            ).managedFields
          : runSync(tracker.updatingScale(live as JsonApiObject, object, { manager, paths }));
    } catch (error) {
      return this.#checkRefusal(error, status, answer);
    }
    if (status === 422) return [];
    if (status >= 300) return [{ what: 'a refusal', expected: answer, actual: entries }];
    return compare('managedFields', managedFieldsOf(object), keepTimes(entries, object, live));
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
    if (status === 422 || (this.#hasVersions && failedToConvert(status, answer))) return [];
    if (status >= 300) return [{ what: 'a refusal', expected: answer, actual: result.object }];
    const object = this.#store(result.object as unknown as JsonObject, live, request);
    const withComparedTime = countsUnstoredNull(request, live, answer) ? withoutTime : (entry: JsonObject) => entry;
    return [
      ...compare('object', comparable(answer), comparable(object)),
      ...compare(
        'managedFields',
        withOneTime(managedFieldsOf(answer), now).map(withComparedTime),
        withOneTime(keepTimes(result.managedFields, object, live), now).map(withComparedTime),
      ),
    ];
  }

  #checkRefusal(error: unknown, status: number, answer: JsonObject): StepDifference[] {
    if (error instanceof StatusError && this.#hasVersions && failedToConvert(status, answer)) return [];
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

/** A write that changes nothing but times is none: the live entries stay. An empty list of metadata is a change. */
function keepTimes(
  entries: readonly JsonObject[],
  object: JsonObject,
  live: JsonObject | undefined,
): readonly JsonObject[] {
  if (live === undefined || !isDeepStrictEqual(withoutServerFields(object), withoutServerFields(live)))
    return [...entries];
  const before = managedFieldsOf(live);
  return isDeepStrictEqual(entries.map(withoutTime), before.map(withoutTime)) ? before : [...entries];
}

function withoutTime(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([key]) => key !== 'time'));
}

/** Kubernetes reads the clock twice at a first apply. */
function withOneTime(entries: readonly JsonObject[], now: number): JsonObject[] {
  const before = formatTimestamp(now - 1000);
  return entries.map((entry) =>
    entry['manager'] === 'before-first-apply' && entry['time'] === before
      ? { ...entry, time: formatTimestamp(now) }
      : entry,
  );
}

/** Milliseconds; the time that a step wrote is the latest of all. */
function latestTime(object: JsonObject): number | undefined {
  const entries = isJsonObject(object['metadata']) ? object['metadata']['managedFields'] : undefined;
  const times = ((entries ?? []) as JsonObject[]).flatMap(({ time }) =>
    typeof time === 'string' ? [parseTimestamp(time) ?? 0] : [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Entries are compared with the order of their keys. */
function compare(what: string, expected: unknown, actual: unknown): StepDifference[] {
  const isEqual =
    what === 'managedFields'
      ? JSON.stringify(expected) === JSON.stringify(actual)
      : isDeepStrictEqual(JSON.parse(JSON.stringify(expected)), JSON.parse(JSON.stringify(actual)));
  return isEqual ? [] : [{ what, expected, actual }];
}
