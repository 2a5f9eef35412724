import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createContext, Script } from 'node:vm';
import type { MessagePort } from 'node:worker_threads';
import { buildForBrowsers } from '../../../hack/builds/bundle-client.mjs';
import type * as Webclient from '../../../pkg/webclient/index.ts';
import type { ownSource } from '../../../pkg/webclient/live/selection-source.ts';
import type { FeedPort } from '../../../pkg/webclient/worker/feed-port.ts';
import type { SharedFeeds, serveTab } from '../../../pkg/webclient/worker/serve-tabs.ts';
import type { sharedWorkerFeeds } from '../../../pkg/webclient/worker/shared-worker-feeds.ts';
import type { SeededRandom } from '../../../pkg/testenv/faults/seeded-random.ts';

/** What a page and a worker have of the client. */
export interface ClientCode {
  connect: typeof Webclient.connect;
  live: typeof Webclient.live;
  follow: typeof Webclient.follow;
  ownSource: typeof ownSource;
  sharedWorkerFeeds: typeof sharedWorkerFeeds;
  SharedFeeds: typeof SharedFeeds;
  serveTab: typeof serveTab;
}

/** The clock of a realm runs faster than that of the servers, whose beats are set for it. */
export const clockSpeed = 10;
/** It goes on with the turns of this process, so that a slow machine does not make every answer late. Milliseconds. */
const tickMs = 10;
const frameMs = 16;
/** A request that takes longer shows that the machine is busy. Milliseconds, as for the servers. */
const maxAnswerMs = 100;

const source = `
export { connect, follow, live } from './pkg/webclient/index.ts';
export { ownSource } from './pkg/webclient/live/selection-source.ts';
export { serveTab, SharedFeeds } from './pkg/webclient/worker/serve-tabs.ts';
export { sharedWorkerFeeds } from './pkg/webclient/worker/shared-worker-feeds.ts';`;
let compiled: Promise<Script> | undefined;

async function compile(): Promise<Script> {
  const resolveDir = fileURLToPath(new URL('../../..', import.meta.url));
  const stdin = { contents: source, resolveDir, loader: 'ts' } as const;
  const [code] = await buildForBrowsers({ stdin, format: 'iife', globalName: 'client' });
  return new Script(code!.text, { filename: 'client.js' });
}

interface Timer {
  act: () => void;
  dueMs: number;
  everyMs: number | undefined;
}

/**
 * A page or a worker as a browser has it: the client's code in a global scope of its own, with its own clock. While it
 * sleeps, nothing enters it: no timer, no answer, no message, no event.
 */
export class ClientRealm {
  static #isHeld = false;
  readonly client: ClientCode;
  readonly #scope: { document: { hidden: boolean } };
  readonly #events = new EventTarget();
  readonly #timers = new Map<number, Timer>();
  #lastTimer = 0;
  /** No timer is due before. */
  #nextDueMs = Infinity;
  #clockMs = Date.now();
  readonly #ticks: NodeJS.Timeout;
  #isAsleep = false;
  #isManual = false;
  /** Has an answer, or a piece of one, come since this was reset? And a message? */
  hasHeard = { network: false, messages: false };
  /** What waits for its end of sleep. */
  #waiting: (() => void)[] = [];
  /** An open port keeps all that its listener holds. */
  readonly #ports: MessagePort[] = [];

  private constructor(code: Script, hasFrames: boolean) {
    const scope = {
      ...standardGlobals,
      document: { hidden: false },
      fetch: this.fetch,
      setTimeout: (act: () => void, ms?: number) => this.#setTimer(act, ms),
      clearTimeout: (id = 0) => this.#timers.delete(id),
      setInterval: (act: () => void, ms: number) => this.#setTimer(act, ms, ms),
      clearInterval: (id = 0) => this.#timers.delete(id),
      addEventListener: this.#events.addEventListener.bind(this.#events),
      dispatchEvent: this.#events.dispatchEvent.bind(this.#events),
      ...(hasFrames
        ? { requestAnimationFrame: (act: () => void) => scope.document.hidden || this.#setTimer(act, frameMs) }
        : {}),
    };
    this.#scope = scope;
    // Every request listens for the wake of its page.
    setMaxListeners(0, this.#events);
    createContext(scope);
    code.runInContext(scope);
    const { client, Date: ownDate } = new Script('({ client, Date })').runInContext(scope) as {
      client: ClientCode;
      Date: DateConstructor;
    };
    ownDate.now = () => this.#clockMs;
    this.client = client;
    this.#ticks = setInterval(() => {
      if (!this.#isAsleep && !this.#isManual && !ClientRealm.#isHeld) this.pass(tickMs * clockSpeed);
    }, tickMs);
  }

  /** `hasFrames`: it paints frames while it is seen. */
  static async start({ hasFrames }: { hasFrames: boolean }): Promise<ClientRealm> {
    compiled ??= compile();
    return new ClientRealm(await compiled, hasFrames);
  }

  /**
   * Until the signal aborts, the clocks of all realms stand still while `ask` takes long: on a busy machine PostgreSQL
   * would answer nobody in time, because its clock is not faster.
   */
  static async keepPace(ask: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hold = setTimeout(() => (ClientRealm.#isHeld = true), maxAnswerMs);
      // It is asked again.
      await ask().catch(() => undefined);
      clearTimeout(hold);
      ClientRealm.#isHeld = false;
      await delay(maxAnswerMs);
    }
  }

  get clockMs(): number {
    return this.#clockMs;
  }

  /** The clock goes on only by `pass`, or by itself again. */
  setManual(isManual: boolean): void {
    this.#isManual = isManual;
  }

  /** So much time passes at once, and the timers that are due fire. */
  pass(ms: number): void {
    this.#clockMs += ms;
    if (!this.#isAsleep) this.#fireTimers();
  }

  /** The same, second by second, so that what happens every few seconds does. */
  passSlowly(ms: number): void {
    if (ms <= 0) return;
    this.pass(Math.min(ms, 1000));
    setTimeout(() => this.passSlowly(ms - 1000), 0);
  }

  hide(isHidden: boolean): void {
    this.#scope.document.hidden = isHidden;
    this.dispatch('visibilitychange');
  }

  dispatch(type: string): void {
    this.#events.dispatchEvent(new Event(type));
  }

  sleep(): void {
    this.#isAsleep = true;
  }

  /** After so much time. What waited, and `event`, arrive in any order. */
  wake(ms: number, random: SeededRandom, event: () => void): void {
    if (!this.#isAsleep) return;
    this.#isAsleep = false;
    const arriving = this.#waiting;
    this.#waiting = [];
    const release = (): void => arriving.forEach((arrive) => arrive());
    this.#clockMs += ms;
    const acts = [() => this.pass(0), release, event];
    while (acts.length > 0) setImmediate(acts.splice(random.below(acts.length), 1)[0]!);
  }

  /** A port whose messages wait for the realm. */
  portOf(port: MessagePort): FeedPort {
    this.#ports.push(port);
    return {
      postMessage: (message) => port.postMessage(message),
      addEventListener: (_type, listener) =>
        void port.on('message', (data: unknown) =>
          this.#enter(() => {
            this.hasHeard.messages = true;
            listener({ data });
          }),
        ),
      start: () => port.start(),
      close: () => port.close(),
    };
  }

  /** Resolves when it does not sleep, in the order of what waits. */
  awake(): Promise<void> {
    return new Promise((resolve) => this.#enter(resolve));
  }

  /** Ends its timers and its ports. What waits for the end of its sleep ends, too, or it would stay for ever. */
  stop(): void {
    clearInterval(this.#ticks);
    this.#timers.clear();
    for (const port of this.#ports.splice(0)) port.close();
    this.#isAsleep = false;
    for (const arrive of this.#waiting.splice(0)) arrive();
  }

  /** In the order of arrival. */
  #enter(act: () => void): void {
    if (this.#isAsleep) this.#waiting.push(() => this.#enter(act));
    else act();
  }

  #setTimer(act: () => void, ms = 0, everyMs?: number): number {
    this.#lastTimer += 1;
    this.#add(this.#lastTimer, { act, dueMs: this.#clockMs + ms, everyMs });
    return this.#lastTimer;
  }

  #add(id: number, timer: Timer): void {
    this.#timers.set(id, timer);
    this.#nextDueMs = Math.min(this.#nextDueMs, timer.dueMs);
  }

  /** Each in a turn of its own, as in a browser. */
  #fireTimers(): void {
    if (this.#clockMs < this.#nextDueMs) return;
    this.#nextDueMs = Infinity;
    const due: [number, Timer][] = [];
    for (const entry of this.#timers)
      if (entry[1].dueMs <= this.#clockMs) due.push(entry);
      else this.#nextDueMs = Math.min(this.#nextDueMs, entry[1].dueMs);
    for (const [id, timer] of due.toSorted(([, a], [, b]) => a.dueMs - b.dueMs))
      setImmediate(() => this.#fire(id, timer));
  }

  /** Unless it was stopped or has fired meanwhile. */
  #fire(id: number, timer: Timer): void {
    if (this.#timers.get(id) !== timer) return;
    this.#timers.delete(id);
    // It fires at the end of the sleep.
    if (this.#isAsleep) return this.#add(id, timer);
    if (timer.everyMs !== undefined) this.#add(id, { ...timer, dueMs: this.#clockMs + timer.everyMs });
    timer.act();
  }

  /** Its network. */
  readonly fetch: typeof fetch = async (url, init) => {
    try {
      const { body, status, headers } = await fetch(url, init);
      this.hasHeard.network = true;
      return new Response(body === null ? null : this.#bodyOf(body), { status, headers });
    } finally {
      await this.awake();
    }
  };

  #bodyOf(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>({
      pull: async (stream) => {
        try {
          const { done, value } = await reader.read();
          await this.awake();
          this.hasHeard.network = true;
          if (done) stream.close();
          else stream.enqueue(value);
        } catch (error) {
          await this.awake();
          stream.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }
}

const standardGlobals = {
  AbortController,
  AbortSignal,
  crypto,
  Event,
  EventTarget,
  Headers,
  queueMicrotask,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
};
