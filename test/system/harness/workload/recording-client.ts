import { setTimeout as delay } from 'node:timers/promises';
import type { Operation, Outcome, Refusal } from '../history/history.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { ApiClient, NoAnswer, type ApiAnswer, type ApiRequest } from '../client/api-client.ts';
import { now } from '../history/instant.ts';
import type { OperationLog } from './operation-log.ts';

export interface Target {
  name: string;
  port: number;
}

export interface RecordingClientOptions {
  id: number;
  targets: readonly [Target, ...Target[]];
  token: string;
  random: SeededRandom;
  operationLog: OperationLog;
}

/** A request with its result. */
export interface Exchange {
  client: number;
  seq: number;
  replica: string;
  invoked: number;
  completed: number;
  answer?: ApiAnswer;
  error?: string;
}

interface Status {
  reason?: string;
  message?: string;
  details?: { causes?: { reason?: string; field?: string }[] };
}

const passedOverMs = 500;
/** Pause after a refused connection. Milliseconds. */
const pauseMs = 50;

/** One client: one request at a time, to either server, each recorded with its result. */
export class RecordingClient {
  readonly id: number;
  readonly random: SeededRandom;
  readonly api: ApiClient;
  readonly operationLog: OperationLog;
  readonly #targets: readonly [Target, ...Target[]];
  readonly #refusedAt = new Map<string, number>();
  #seq = 0;

  constructor({ id, targets, token, random, operationLog }: RecordingClientOptions) {
    this.id = id;
    this.random = random;
    this.operationLog = operationLog;
    this.#targets = targets;
    this.api = new ApiClient({ token });
  }

  get seq(): number {
    return this.#seq;
  }

  /** A random server, as behind a load balancer: skips one that refused connections recently. */
  anyTarget(): Target {
    const chosen = this.random.pick(this.#targets);
    return this.#isAway(chosen) ? (this.#targets.find((target) => !this.#isAway(target)) ?? chosen) : chosen;
  }

  #isAway({ name }: Target): boolean {
    return now() - (this.#refusedAt.get(name) ?? -Infinity) < passedOverMs;
  }

  async exchange(request: Omit<ApiRequest, 'port'>, target = this.anyTarget()): Promise<Exchange> {
    this.#seq += 1;
    const begun = { client: this.id, seq: this.#seq, replica: target.name, invoked: now() };
    try {
      const answer = await this.api.request({ ...request, port: target.port });
      return { ...begun, completed: now(), answer };
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      const completed = now();
      if (error.isUnsent) {
        this.#refusedAt.set(target.name, completed);
        await delay(pauseMs);
      }
      return { ...begun, completed, error: error.message };
    }
  }

  record(operation: Operation): void {
    this.operationLog.add(operation);
  }
}

/** The common fields of every operation. */
export function recordOf({
  client,
  seq,
  replica,
  invoked,
  completed,
}: Exchange): Pick<Operation, 'client' | 'seq' | 'replica' | 'invoked' | 'completed'> {
  return { client, seq, replica, invoked, completed };
}

/** `read` parses a successful response. */
export function outcomeOf<Answer>(
  { answer, error }: Exchange,
  read: (body: unknown, headers: ApiAnswer['headers']) => Answer,
): Outcome<Answer> {
  if (answer === undefined) return { type: 'unknown', error: error ?? 'no answer' };
  const { status, text, headers } = answer;
  if (status >= 200 && status < 300) return { type: 'ok', ...read(JSON.parse(text), headers) };
  if (status >= 400 && status < 500) return refusalOf(answer);
  return { type: 'unknown', status, error: statusIn(text).message ?? text.slice(0, 200) };
}

/** The record of a complete 4xx response. */
export function refusalOf({ status, text, headers }: ApiAnswer): Refusal {
  const { reason = '', message, details } = statusIn(text);
  const causes = details?.causes ?? [];
  const duplicate = causes.find((cause) => cause.reason === 'FieldValueDuplicate')?.field;
  return {
    type: 'refused',
    status,
    reason,
    ...(message === undefined ? {} : { message }),
    ...(duplicate === undefined ? {} : { duplicate }),
    ...(causes.some((cause) => cause.reason === 'ResourceVersionTooLarge') ? { tooLarge: true } : {}),
    ...(headers['retry-after'] === undefined ? {} : { retryAfter: true }),
  };
}

export function statusIn(text: string): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return {};
  }
}
