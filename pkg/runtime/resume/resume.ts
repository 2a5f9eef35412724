import {
  isFenceLost,
  isStatusError,
  newTimeout,
  pause,
  withinTime,
  type AnyObject,
  type Client,
} from '#pkg/apimachinery/index';
import type { Informer } from '../cache/informer.ts';
import type { ResumeOptions, WatchDefinition } from '../definition/controller-definition.ts';
import type { Log } from '../log.ts';
import { parseRequest } from '../reconcile/reconciler.ts';
import type { Source } from '../source/source.ts';
import { PositionStore } from './position-store.ts';
import { ResumedSource } from './resumed-source.ts';
import {
  formatPosition,
  maxOpenRequests,
  resumeSignature,
  versionDigest,
  type ResumePosition,
} from './resume-position.ts';
import { WorkLedger } from './work-ledger.ts';

/** Timeout for reading the position at the start; afterwards everything is reconciled. Milliseconds. */
const readTimeoutMs = 10_000;
const readPauseMs = 200;
/** Timeout of one write; the stop waits for at most two. Milliseconds. */
const writeTimeoutMs = 2000;
const defaultIntervalMs = 5000;

export interface ResumeEnvironment {
  watches: readonly WatchDefinition[];
  /** The informer of each watch. */
  informers: readonly Informer<AnyObject>[];
  client: Client;
  store: PositionStore;
  options: ResumeOptions;
  controller: string;
  log: Log;
}

/** One term of a controller that resumes from the previous term's position. */
export class Resume {
  readonly ledger = new WorkLedger();
  /** Start them together. */
  readonly sources: readonly Source[];
  readonly #environment: ResumeEnvironment;
  readonly #watched: readonly ResumedSource[];
  readonly #signature: string;
  readonly #version: string;
  #reading: Promise<ResumePosition | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #written = '';
  #mayWrite = true;
  #isOverfullTold = false;

  constructor(environment: ResumeEnvironment) {
    this.#environment = environment;
    const { watches, informers, client, log, options } = environment;
    this.#signature = resumeSignature(watches);
    this.#version = versionDigest(options.version ?? '');
    this.#watched = watches.map(
      (watch, i) =>
        new ResumedSource({
          informer: informers[i]!,
          watch,
          client,
          log,
          position: async (signal) => (await this.#read(signal))?.revisions[i],
          onLost: () => this.#reconcileAll(),
        }),
    );
    this.sources = [...this.#watched, this.#openRequests()];
  }

  /** Call it when all sources have started: from now on the position is stored. */
  begin(): void {
    const { intervalMs = defaultIntervalMs } = this.#environment.options;
    this.#timer = setInterval(() => void this.#write(), intervalMs);
    this.#timer.unref();
  }

  /** Call it when no reconcile is running any more: stores the final position. Never rejects. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write();
    this.#mayWrite = false;
  }

  /** The open requests of the previous term. */
  #openRequests(): Source {
    return {
      start: async (enqueue, signal) => {
        const position = await this.#read(signal);
        const now = Date.now();
        for (const [key, due] of position?.open ?? []) enqueue(parseRequest(key), { afterMs: due - now });
        return !signal.aborted;
      },
      stop: () => undefined,
    };
  }

  #read(signal: AbortSignal): Promise<ResumePosition | undefined> {
    this.#reading ??= this.#readStored(signal);
    return this.#reading;
  }

  /** Never rejects. */
  async #readStored(signal: AbortSignal): Promise<ResumePosition | undefined> {
    const { store, watches, controller, log } = this.#environment;
    const end = performance.now() + readTimeoutMs;
    for (;;) {
      try {
        const position = await withinTime(
          { timeoutMs: readTimeoutMs, signal, timeoutError: () => newTimeout('the stored position did not come') },
          (limit) => store.read(limit),
        );
        if (
          position === undefined ||
          position.signature !== this.#signature ||
          position.revisions.length !== watches.length
        )
          return undefined;
        this.#written = formatPosition(position);
        // The history still reports deletions.
        if (position.version !== this.#version) this.#reconcileAll();
        return position;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (isStatusError(error, 'Forbidden') || performance.now() >= end) {
          log.warn({ err: error, controller }, 'could not read the stored position; reconciling all objects');
          return undefined;
        }
      }
      await pause(readPauseMs, signal);
    }
  }

  #reconcileAll(): void {
    for (const source of this.#watched) source.enqueueAll();
  }

  /** Does nothing while a write is running. Never rejects. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeNow().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    const { store, controller, log } = this.#environment;
    const position = this.#position();
    if (position === undefined || !this.#mayWrite) return;
    const text = formatPosition(position);
    if (text === this.#written) return;
    try {
      await store.write(position, AbortSignal.timeout(writeTimeoutMs));
      this.#written = text;
    } catch (error) {
      if (isFenceLost(error)) this.#mayWrite = false;
      else log.warn({ err: error, controller }, 'could not store the position of a controller; retrying');
    }
  }

  /** Undefined while it is unknown or too large: then the stored position stays valid. */
  #position(): ResumePosition | undefined {
    const work = this.ledger.open(maxOpenRequests, (key) => this.#watched.some((source) => source.isFound(key)));
    if (work === undefined) return this.#warnTooManyOpen();
    const revisions: bigint[] = [];
    for (const { revision, from = 0n } of this.#watched) {
      if (revision === undefined) return undefined;
      const settled = work.before !== undefined && work.before <= revision ? work.before - 1n : revision;
      // A change of another watch holds the revision back: for this watch, everything up to `from` was handled before
      // this term.
      revisions.push(settled < from ? from : settled);
    }
    return {
      signature: this.#signature,
      ...(work.isComplete ? { version: this.#version } : {}),
      revisions,
      open: work.requests,
    };
  }

  /** Logs once in a term. */
  #warnTooManyOpen(): undefined {
    const { controller, log } = this.#environment;
    if (!this.#isOverfullTold)
      log.warn(
        { controller, most: maxOpenRequests },
        'too many requests are open to store the position of a controller, and their objects do not exist; it is stored again when fewer are open',
      );
    this.#isOverfullTold = true;
  }
}
