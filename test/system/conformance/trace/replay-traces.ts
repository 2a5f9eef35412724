import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../pkg/apimachinery/index.ts';
import { hasNull } from '../../../../pkg/apiserver/schema/json-value.ts';
import type { StepClient } from '../client/step-client.ts';
import {
  comparable,
  failedToConvert,
  countsUnstoredNull,
  failedToConvertScale,
  generationOf,
  hasEntryTwice,
  lostAncientChanges,
  lostManagedFields,
  managedFieldsOf,
  messageOf,
  nameOf,
  rewritesKeptReplicas,
  sortedCauses,
} from './answer-fields.ts';
import {
  objectAfter,
  type Difference,
  type RequestStep,
  type StepAnswer,
  type StepRequest,
  type Trace,
} from './trace.ts';
import { pauseUntilNextSecond, WriteTimes } from './write-times.ts';

/** A trace that was sent again. */
export interface ReplayedTrace {
  trace: Trace;
  /** The first answer that differs; the steps after it are not sent. */
  difference: Difference | undefined;
  /** How many answers were compared. */
  compared: number;
}

/**
 * Sends the requests of traces of one model to a server of ours over HTTP, and compares its answers with the recorded
 * ones: the object, its managed fields in their order and with the step that wrote each of their times, and whether it
 * was written at all; or the status, reason and causes of the refusal. The traces were recorded with each step in a
 * second of its own. The server has neither the model before nor after it.
 */
export async function replayTraces(client: StepClient, traces: readonly Trace[]): Promise<ReplayedTrace[]> {
  const { definition, steps } = traces[0]!;
  const replays = traces.map((trace) => new TraceReplay(client, trace));
  await client.define(definition, 1);
  await Promise.all(replays.map((replay) => replay.untilDefinition()));
  const change = steps.find((step) => 'definition' in step);
  if (change !== undefined) {
    await client.define(change.definition, 2);
    await Promise.all(replays.map((replay) => replay.untilDefinition()));
  }
  await client.remove(definition);
  return replays;
}

class TraceReplay implements ReplayedTrace {
  readonly trace: Trace;
  difference: Difference | undefined;
  compared = 0;
  readonly #client: StepClient;
  readonly #hasVersions: boolean;
  #next = 0;
  #isOver = false;
  /** The object on the peer, and ours. */
  #live: { recorded: JsonObject; ours: JsonObject } | undefined;
  readonly #times = { recorded: new WriteTimes(), ours: new WriteTimes() };

  constructor(client: StepClient, trace: Trace) {
    this.#client = client;
    this.trace = trace;
    this.#hasVersions = (trace.definition['spec'] as { versions: unknown[] }).versions.length > 1;
  }

  /** Sends the steps up to the next definition. */
  async untilDefinition(): Promise<void> {
    const { steps } = this.trace;
    while (this.#next < steps.length) {
      const step = this.#next;
      this.#next += 1;
      const entry = steps[step]!;
      if ('definition' in entry) return;
      if (!this.#isOver) await this.#send(step, entry);
    }
  }

  async #send(step: number, entry: RequestStep): Promise<void> {
    if (isAnsweredOtherwise(entry)) return;
    if (this.#isComparedNoMore(entry)) {
      this.#isOver = true;
      return;
    }
    const request = this.#translate(entry.request);
    await pauseUntilNextSecond();
    const answer = await this.#client.step(request, this.trace.definition, this.#nameOf('ours'));
    if (isRefusedByFullValidation(entry, answer)) {
      this.#isOver = true;
      return;
    }
    const difference = this.#compare(step, entry, answer);
    this.compared += 1;
    if (difference !== undefined) {
      this.difference = { step, ...difference };
      this.#isOver = true;
      return;
    }
    const recorded = objectAfter(this.#live?.recorded, entry.request, entry);
    const ours = objectAfter(this.#live?.ours, request, answer);
    if (recorded !== undefined && ours !== undefined) this.#live = { recorded, ours };
  }

  #nameOf(side: 'recorded' | 'ours'): string {
    return this.#live === undefined ? this.trace.name : nameOf(this.#live[side]);
  }

  /** The request to our object, so that it means the same. */
  #translate(request: StepRequest): StepRequest {
    const { verb } = request;
    const text = JSON.stringify(request.body).replaceAll(this.#nameOf('recorded'), this.#nameOf('ours'));
    const body = JSON.parse(text) as JsonValue;
    if (verb === 'json') return { ...request, body: this.#translateOperations(body as JsonObject[]) };
    if (verb === 'apply' || !isJsonObject(body) || !isJsonObject(body['metadata'])) return { ...request, body };
    const metadata: JsonObject = { ...body['metadata'] };
    const { managedFields } = metadata;
    if (isEmptyList(managedFields)) delete metadata['managedFields'];
    else if (Array.isArray(managedFields)) metadata['managedFields'] = this.#translateEntries(managedFields);
    if (verb === 'replace')
      for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'generation'] as const)
        if (metadata[field] !== undefined) metadata[field] = (this.#live!.ours['metadata'] as JsonObject)[field]!;
    return { ...request, body: { ...body, metadata } };
  }

  #translateOperations(operations: readonly JsonObject[]): JsonObject[] {
    return operations.map((operation) =>
      operation['path'] === '/metadata/managedFields' && Array.isArray(operation['value'])
        ? { ...operation, value: this.#translateEntries(operation['value']) }
        : operation,
    );
  }

  #translateEntries(entries: readonly JsonValue[]): JsonObject[] {
    return this.#times.ours.translated(entries as JsonObject[], this.#times.recorded);
  }

  /** From where on the peer's managed fields are others by intent. */
  #isComparedNoMore({ request, status, answer, scaled }: RequestStep): boolean {
    const recorded = this.#live?.recorded;
    if (rewritesKeptReplicas(request, recorded, scaled) || lostAncientChanges(recorded, scaled ?? answer)) return true;
    if (scaled !== undefined && hasEntryTwice(scaled)) return true;
    // An object without any entry is not tracked: here it has none, there one of fields that we reset.
    const entries = recorded === undefined ? [] : managedFieldsOf(recorded);
    if (entries.length > 0 && entries.flatMap(comparableEntry).length === 0) return true;
    if (status === 200 && countsUnstoredNull(request, recorded, answer)) return true;
    if (!this.#hasVersions) return false;
    return status < 300 ? lostManagedFields(recorded, answer) : failedToConvert(status, answer);
  }

  #compare(step: number, entry: RequestStep, ours: StepAnswer): Omit<Difference, 'step'> | undefined {
    const { request, status, answer, scaled } = entry;
    if (status === 500 && messageOf(answer).startsWith('failed to create typed patch object'))
      return ours.status === 400 ? undefined : { what: 'status 400', expected: answer, actual: ours.answer };
    if (ours.status !== status) return { what: `status ${status}`, expected: answer, actual: ours.answer };
    // Kubernetes names the field of the object, and not the largest number.
    if (status === 422 && request.subresource === 'scale') return undefined;
    if (status >= 300) return differenceOf('refusal', refusalOf(answer), refusalOf(ours.answer));
    if (request.subresource !== 'scale') return this.#compareObjects(step, answer, ours.answer);
    return (
      differenceOf('answer', scaleOf(answer), scaleOf(ours.answer)) ?? this.#compareObjects(step, scaled!, ours.scaled!)
    );
  }

  #compareObjects(step: number, recorded: JsonObject, ours: JsonObject): Omit<Difference, 'step'> | undefined {
    const renamed = JSON.parse(JSON.stringify(ours).replaceAll(nameOf(ours), nameOf(recorded))) as JsonObject;
    const live = this.#live;
    return differenceOf(
      'answer',
      {
        ...comparableObject(step, recorded, live?.recorded, this.#times.recorded),
        isWritten: isWritten(recorded, live?.recorded) && isVisiblyChanged(recorded, live?.recorded),
      },
      {
        ...comparableObject(step, renamed, live?.ours, this.#times.ours),
        isWritten: isWritten(ours, live?.ours),
      },
    );
  }
}

const nullCause = /Invalid value: \\"null\\"/;

/** A meant difference, after which the objects would be different. */
function isAnsweredOtherwise({ request: { verb, subresource, body }, status, answer }: RequestStep): boolean {
  if (failedToConvertScale(subresource, status)) return true;
  // The client has sent no null: the merge left one where a map has lost its last field.
  if (verb === 'apply' && status === 422 && !hasNull(body)) return nullCause.test(JSON.stringify(answer['details']));
  return (
    verb === 'json' &&
    (body as JsonObject[]).some(({ path, value }) => path === '/metadata/managedFields' && isEmptyList(value))
  );
}

/** Kubernetes misses `apiVersion` and `kind` of an embedded resource only where the write is not one of `/status`. */
function isRefusedByFullValidation({ request, status }: RequestStep, ours: StepAnswer): boolean {
  if (request.subresource !== 'status' || status >= 300 || ours.status !== 422) return false;
  const { causes = [] } = (ours.answer['details'] ?? {}) as { causes?: { message: string; field: string }[] };
  return causes.every(({ message, field }) => message === 'Required value' && /\.(apiVersion|kind)$/.test(field));
}

function differenceOf(what: string, expected: unknown, actual: unknown): Omit<Difference, 'step'> | undefined {
  return isDeepStrictEqual(expected, actual) ? undefined : { what, expected, actual };
}

function comparableObject(
  step: number,
  object: JsonObject,
  live: JsonObject | undefined,
  times: WriteTimes,
): JsonObject {
  const entries = managedFieldsOf(object);
  times.note(step, entries);
  return {
    ...comparable(object),
    generations: generationOf(object) - generationOf(live),
    managedFields: times.numbered(entries).flatMap(comparableEntry),
  };
}

function isWritten(object: JsonObject, live: JsonObject | undefined): boolean {
  const revisionOf = (state: JsonObject | undefined) =>
    (state?.['metadata'] as JsonObject | undefined)?.['resourceVersion'];
  return revisionOf(object) !== revisionOf(live);
}

/** Kubernetes also stores what nobody sees: an empty list of metadata, or the same fields in another order. */
function isVisiblyChanged(object: JsonObject, live: JsonObject | undefined): boolean {
  const visible = ({ apiVersion: _version, ...content }: JsonObject): unknown => {
    const { resourceVersion: _revision, ...metadata } = content['metadata'] as JsonObject;
    return { ...content, metadata };
  };
  return live === undefined || !isDeepStrictEqual(visible(object), visible(live));
}

/** At `/status` we reset all other fields, Kubernetes only metadata and spec: `epoch` is another one. */
function comparableEntry(entry: JsonObject): JsonObject[] {
  if (entry['subresource'] !== 'status' && entry['manager'] !== 'ancient-changes') return [entry];
  const { 'f:epoch': _epoch, ...fieldsV1 } = entry['fieldsV1'] as JsonObject;
  return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }];
}

/** What a Scale shows, without what only the server sets and the generated name. Kubernetes leaves out 0 replicas. */
function scaleOf({ kind, apiVersion, spec, status }: JsonObject): unknown {
  return { kind, apiVersion, spec: { replicas: 0, ...(spec as JsonObject) }, status };
}

function refusalOf({ reason, details }: JsonObject): unknown {
  const { causes = [] } = (details ?? {}) as { causes?: { message: string; field: string }[] };
  // Of replicas that are no number there is one cause of the schema, and in Kubernetes another one of the scale.
  const ofSchema = causes.filter(({ message }) => !message.includes('accessor error'));
  const comparableCauses = ofSchema.map(({ message, field, ...cause }) => ({
    ...cause,
    message: plainMessage(message),
    field: field.replaceAll(/\[([a-z]+)\]/g, '.$1'),
  }));
  return { reason, causes: sortedCauses({ causes: comparableCauses }) };
}

/**
 * Kubernetes escapes `<` and `&` as Go does, and at `/status` it leaves `status` out of the paths in messages. The path
 * of a map's value is `map[key]` in some of its causes, and `map.key` in others; a duplicate's keys are sorted.
 */
function plainMessage(message: string): string {
  return message
    .replaceAll('\\u003c', '<')
    .replaceAll('\\u0026', '&')
    .replace(/^Duplicate value: (\{.*\})$/, (_, keys: string) => `Duplicate value: ${sortedKeys(keys)}`)
    .replace(/(?:status\.?)?(\S*) in body/, '$1 in body');
}

function sortedKeys(text: string): string {
  const keys = Object.entries(JSON.parse(text) as JsonObject);
  return JSON.stringify(Object.fromEntries(keys.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

function isEmptyList(value: JsonValue | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
