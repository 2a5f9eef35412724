import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../pkg/apimachinery/index.ts';
import type { StepAnswer, StepClient } from '../client/step-client.ts';
import {
  comparable,
  failedToConvert,
  lostManagedFields,
  managedFieldsOf,
  messageOf,
  sortedCauses,
} from './answer-fields.ts';
import type { Difference, RequestStep, StepRequest, Trace } from './trace.ts';

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
 * ones: the object and its managed fields without times, or the status, reason and causes of the refusal. The server
 * has neither the model before nor after it.
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
    const request = this.#translate(entry.request);
    if (this.#isComparedNoMore(entry)) {
      this.#isOver = true;
      return;
    }
    const answer = await this.#client.step(request, this.trace.definition, this.trace.name);
    const difference = compareAnswers(entry, answer, this.#live);
    this.compared += 1;
    if (difference !== undefined) {
      this.difference = { step, ...difference };
      this.#isOver = true;
    } else if (entry.status < 300 && !request.dryRun) this.#live = { recorded: entry.answer, ours: answer.body };
  }

  /** The request to our object, so that it means the same. */
  #translate(request: StepRequest): StepRequest {
    const { verb, body } = request;
    if (verb === 'json' || verb === 'apply' || !isJsonObject(body) || !isJsonObject(body['metadata'])) return request;
    const metadata: JsonObject = { ...body['metadata'] };
    if (isEmptyList(metadata['managedFields'])) delete metadata['managedFields'];
    if (verb === 'replace')
      for (const field of ['uid', 'resourceVersion', 'creationTimestamp', 'generation'] as const)
        if (metadata[field] !== undefined) metadata[field] = (this.#live!.ours['metadata'] as JsonObject)[field]!;
    return { ...request, body: { ...body, metadata } };
  }

  /**
   * From where on the peer's managed fields are others by intent, or by chance: which managers become `ancient-changes`
   * depends on the second of each write.
   */
  #isComparedNoMore({ status, answer }: RequestStep): boolean {
    if (status < 300 && JSON.stringify(managedFieldsOf(answer)).includes('"ancient-changes"')) return true;
    if (!this.#hasVersions) return false;
    return status < 300 ? lostManagedFields(this.#live?.recorded, answer) : failedToConvert(status, answer);
  }
}

/** A meant difference, after which the objects would be different: an empty list resets our managed fields. */
function isAnsweredOtherwise({ request: { verb, body } }: RequestStep): boolean {
  return (
    verb === 'json' &&
    (body as JsonObject[]).some(({ path, value }) => path === '/metadata/managedFields' && isEmptyList(value))
  );
}

function compareAnswers(
  entry: RequestStep,
  { status, body }: StepAnswer,
  live: { recorded: JsonObject; ours: JsonObject } | undefined,
): Omit<Difference, 'step'> | undefined {
  const { answer } = entry;
  if (entry.status === 500 && messageOf(answer).startsWith('failed to create typed patch object'))
    return status === 400 ? undefined : { what: 'status 400', expected: answer, actual: body };
  if (status !== entry.status) return { what: `status ${entry.status}`, expected: answer, actual: body };
  const [what, expected, actual] =
    status < 300
      ? ['answer', objectOf(answer, live?.recorded, entry), objectOf(body, live?.ours, entry)]
      : ['refusal', refusalOf(answer), refusalOf(body)];
  return isDeepStrictEqual(expected, actual) ? undefined : { what, expected, actual };
}

function objectOf(object: JsonObject, live: JsonObject | undefined, { request }: RequestStep): JsonObject {
  return {
    ...comparable(object),
    // Kubernetes counts a null that an apply leaves in a field without a type as a change, and does not store it.
    ...(request.verb === 'apply' ? {} : { generations: generationOf(object) - generationOf(live) }),
    managedFields: (managedFieldsOf(object) as JsonObject[])
      .flatMap(comparableEntry)
      .toSorted((a, b) => (identityOf(a) < identityOf(b) ? -1 : 1)),
  };
}

function generationOf(object: JsonObject | undefined): number {
  return ((object?.['metadata'] as JsonObject | undefined)?.['generation'] as number | undefined) ?? 0;
}

/** Without its time. At `/status` we reset all other fields, Kubernetes only metadata and spec: `epoch` is another one. */
function comparableEntry(timed: JsonObject): JsonObject[] {
  const { time: _, ...entry } = timed;
  if (entry['subresource'] !== 'status') return [entry];
  const { 'f:epoch': _epoch, ...fieldsV1 } = entry['fieldsV1'] as JsonObject;
  return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }];
}

/** What names an entry of managed fields. Their order depends on the second of each write. */
function identityOf({ manager, operation, apiVersion, subresource }: JsonObject): string {
  return JSON.stringify([operation, manager, apiVersion, subresource]);
}

function refusalOf({ reason, details }: JsonObject): unknown {
  const { causes = [] } = (details ?? {}) as { causes?: { message: string; field: string }[] };
  const comparableCauses = causes.map(({ message, field, ...cause }) => ({
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
