import { randomUUID } from 'node:crypto';
import {
  abortError,
  newTooManyRequests,
  StatusError,
  whenAborted,
  type WebhookConversion,
} from '#pkg/apimachinery/index';
import { certificatesIn } from '#pkg/apis/index';
import type { JsonApiObject } from '../rest/strategy.ts';
import { WebhookClient, WebhookError } from '../webhook/webhook-client.ts';
import type { WebhookPolicy } from '../webhook/webhook-policy.ts';
import { decodeConverted, encodeReview, WrongConversion } from './conversion-review.ts';

/** Objects, and about bytes of JSON, in one review. */
const maxObjects = 100;
const maxRequestLength = 1 << 20;
/** An answer may be four times as large as its request and this. Bytes. */
const spareBytes = 1 << 20;
/** Calls of one webhook at a time, and calls that wait for them. */
const maxCalls = 8;
const maxWaiting = 1024;
/** Failed calls in a row after which the webhook is left alone for a while. */
const maxFailures = 3;
/** How long. Doubles with each further failure. Milliseconds. */
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/** What a call has shown: `message` is undefined if the webhook answers. */
export interface WebhookState {
  reason: 'WebhookAnswers' | 'WebhookNotAllowed' | 'WebhookUnreachable' | 'WebhookAnswersWrong';
  message?: string;
}

/** How a call ended: `done`, or as a `WebhookError` says; `wrong` also for a review that breaks the rules. */
export const webhookOutcomes = ['done', 'refused', 'unreachable', 'wrong'] as const;
export type WebhookOutcome = (typeof webhookOutcomes)[number];

/** Called after each call that did not end with the request it was for. `ms`: how long it took. */
export type WebhookObserver = (ms: number, outcome: WebhookOutcome) => void;

export interface ConversionWebhookOptions {
  conversion: WebhookConversion;
  policy: WebhookPolicy;
  observer?: WebhookObserver | undefined;
  /** Called after each call whose outcome differs from the one before. */
  onState?: (state: WebhookState) => void;
  /** Called when its connections have ended. */
  onClosed?: () => void;
}

/**
 * The webhook of one definition. A webhook that does not answer is called only once in a while: the other requests fail
 * at once.
 */
export class ConversionWebhook {
  readonly #client: WebhookClient;
  readonly #hasUnusableBundle: boolean;
  readonly #observer: WebhookObserver;
  readonly #onState: (state: WebhookState) => void;
  readonly #onClosed: () => void;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #failures = 0;
  #pausedUntil = 0;
  #lastState = '';
  #isRetired = false;

  constructor({ conversion, policy, observer, onState, onClosed }: ConversionWebhookOptions) {
    const { url, caBundle } = conversion;
    const authorities = caBundle === undefined ? undefined : certificatesIn(caBundle);
    this.#hasUnusableBundle = caBundle !== undefined && authorities === undefined;
    this.#client = new WebhookClient({
      url,
      policy,
      maxConnections: maxCalls,
      ...(authorities === undefined ? {} : { authorities }),
    });
    this.#observer = observer ?? (() => undefined);
    this.#onState = onState ?? (() => undefined);
    this.#onClosed = onClosed ?? (() => undefined);
  }

  /**
   * The objects, which have one kind, in another version; in the same order. They must have neither resourceVersion nor
   * managedFields. `lengths`: about the length of each one's JSON.
   * @throws StatusError 500 for a webhook that is not allowed or answers wrongly, 503 for one that does not answer
   */
  async convert(
    objects: readonly JsonApiObject[],
    desiredAPIVersion: string,
    { lengths, signal }: { lengths: readonly number[]; signal?: AbortSignal | undefined },
  ): Promise<JsonApiObject[]> {
    const converted: JsonApiObject[] = [];
    for (let start = 0; start < objects.length;) {
      const end = endOfChunk(lengths, start);
      converted.push(...(await this.#convertChunk(objects.slice(start, end), desiredAPIVersion, signal)));
      start = end;
    }
    return converted;
  }

  /** Asks the webhook to convert nothing, to see whether it answers. Never rejects. */
  async probe(desiredAPIVersion: string, signal?: AbortSignal): Promise<void> {
    const review = { uid: randomUUID(), desiredAPIVersion, objects: [] };
    await this.#call(review, signal).catch(() => undefined);
  }

  /** Its connections end when its last call has ended. */
  retire(): void {
    this.#isRetired = true;
    if (this.#running === 0) this.close();
  }

  /** Calls that are under way fail. */
  close(): void {
    this.#isRetired = true;
    this.#client.close();
    this.#onClosed();
  }

  async #convertChunk(
    objects: readonly JsonApiObject[],
    desiredAPIVersion: string,
    signal: AbortSignal | undefined,
  ): Promise<JsonApiObject[]> {
    const { apiVersion, kind } = objects[0]!;
    const subject = `conversion webhook for ${apiVersion}, Kind=${kind}`;
    if (performance.now() < this.#pausedUntil) throw this.#newPaused(subject);
    await this.#enter(signal);
    try {
      return await this.#call({ uid: randomUUID(), desiredAPIVersion, objects }, signal);
    } catch (error) {
      throw this.#statusOf(error, subject);
    } finally {
      this.#leave();
    }
  }

  async #call(
    review: { uid: string; desiredAPIVersion: string; objects: readonly JsonApiObject[] },
    signal: AbortSignal | undefined,
  ): Promise<JsonApiObject[]> {
    const began = performance.now();
    try {
      if (this.#hasUnusableBundle)
        throw new WebhookError('refused', 'spec.conversion.webhook.clientConfig.caBundle has no valid certificate');
      const body = encodeReview(review);
      const maxBytes = 4 * Buffer.byteLength(body) + spareBytes;
      const bytes = await this.#client.post({ body, maxBytes, signal });
      const converted = await decodeConverted(bytes, review, signal);
      this.#observer(performance.now() - began, 'done');
      this.#succeeded();
      return converted;
    } catch (error) {
      if (error instanceof WrongConversion) this.#observer(performance.now() - began, 'wrong');
      else if (error instanceof WebhookError) this.#observer(performance.now() - began, error.kind);
      this.#failed(error);
      throw error;
    }
  }

  #succeeded(): void {
    this.#failures = 0;
    this.#pausedUntil = 0;
    this.#tell({ reason: 'WebhookAnswers' });
  }

  /** A wrong answer may be due to the object: only a webhook that gives no answer is paused. */
  #failed(error: unknown): void {
    if (error instanceof WrongConversion) {
      this.#failures = 0;
      this.#pausedUntil = 0;
      this.#tell({ reason: 'WebhookAnswersWrong', message: error.message });
    } else if (error instanceof WebhookError) {
      const { kind, message } = error;
      if (kind === 'refused') return this.#tell({ reason: 'WebhookNotAllowed', message });
      this.#failures += 1;
      if (this.#failures >= maxFailures)
        this.#pausedUntil =
          performance.now() + Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(this.#failures - maxFailures, 10));
      this.#tell({ reason: kind === 'wrong' ? 'WebhookAnswersWrong' : 'WebhookUnreachable', message });
    }
  }

  #tell(state: WebhookState): void {
    if (state.reason === this.#lastState) return;
    this.#lastState = state.reason;
    this.#onState(state);
  }

  #statusOf(error: unknown, subject: string): unknown {
    if (error instanceof WrongConversion) return new StatusError(500, 'InternalError', `${subject} ${error.message}`);
    if (!(error instanceof WebhookError)) return error;
    const message = `${subject} failed: ${error.message}`;
    return error.kind === 'unreachable' ? newAway(message) : new StatusError(500, 'InternalError', message);
  }

  #newPaused(subject: string): StatusError {
    return newAway(`${subject} failed: its last ${this.#failures} calls had no usable answer, so it is not called now`);
  }

  async #enter(signal: AbortSignal | undefined): Promise<void> {
    if (this.#running < maxCalls) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.length >= maxWaiting) throw newTooManyRequests('too many conversions of this resource wait');
    await new Promise<void>((resolve, reject) => {
      // A slot is handed over: `#running` stays as it is.
      const admit = (): void => {
        forget();
        resolve();
      };
      let forget = (): void => undefined;
      this.#waiting.push(admit);
      forget = whenAborted(signal, () => {
        const at = this.#waiting.indexOf(admit);
        if (at === -1) return;
        this.#waiting.splice(at, 1);
        reject(abortError(signal!));
      });
    });
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next();
    this.#running -= 1;
    if (this.#isRetired && this.#running === 0) this.close();
  }
}

/** Without Retry-After: clients of Kubernetes would wait for it in silence, ten times, instead of saying what failed. */
function newAway(message: string): StatusError {
  return new StatusError(503, 'ServiceUnavailable', message);
}

/** The chunk has at least one object. */
function endOfChunk(lengths: readonly number[], start: number): number {
  let size = 0;
  let end = start;
  while (end < lengths.length && end - start < maxObjects) {
    size += lengths[end]!;
    if (end > start && size > maxRequestLength) break;
    end += 1;
  }
  return end;
}
