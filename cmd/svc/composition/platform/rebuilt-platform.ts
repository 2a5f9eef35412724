import type { Logger } from 'pino';
import { isDoneWithin, pause } from '#pkg/apimachinery/index';
import type { Unreadiness } from '#pkg/http/index';
import type { Rewind } from '#pkg/storage/index';
import type { OpenPlatform } from './open-platform.ts';

/**
 * How long requests under way may still take when a rebuild begins: what they answer may rest on lost changes.
 * Milliseconds.
 */
const drainTimeoutMs = 200;
/**
 * How long a rebuild waits for controllers that do not stop. Then they lose their client, and those of the next platform
 * start once they have stopped. Milliseconds.
 */
const controllerStopMs = 500;
/** A rebuild that takes longer is given up, and the process ends. Milliseconds. */
const maxRebuildMs = 60_000;
const firstPauseMs = 100;
const maxPauseMs = 1000;

const rebuilding: Unreadiness = {
  name: 'failover',
  message: 'the server rebuilds its state, because a failover of the database lost changes that it knew',
};

export interface RebuiltPlatformOptions {
  log: Logger;
  open: () => Promise<OpenPlatform>;
  /** Serves clients with this platform. */
  serve: (platform: OpenPlatform) => void;
  /** Answers clients 503 until `serve` is called again; resolves when no request uses the platform any more. Never rejects. */
  suspend: (why: Unreadiness, drain: { drainTimeoutMs: number }) => Promise<void>;
}

/**
 * The platform of a process. When a failover of the database loses changes that the platform knows, its caches, roles
 * and controllers may rest on them: clients are answered 503, the platform is stopped, and another is opened and served,
 * in the same way as at the start and the stop of the process.
 */
export class RebuiltPlatform {
  /**
   * Resolves with the reason if the process must be restarted: all history is void, the platform did not stop cleanly, or
   * a rebuild took more than a minute.
   */
  readonly failed: Promise<string>;
  readonly #options: RebuiltPlatformOptions;
  readonly #stopping = new AbortController();
  #fail!: (reason: string) => void;
  #platform: OpenPlatform | undefined;
  #rebuilding: Promise<void> | undefined;
  /** Resolves when the controllers of this platform have been started, and those of the one before have stopped. */
  #controllersStarted = Promise.resolve();

  constructor(options: RebuiltPlatformOptions) {
    this.#options = options;
    this.failed = new Promise((resolve) => (this.#fail = resolve));
  }

  /** Opens the platform and serves clients. Rejects if it cannot be opened. */
  async start(): Promise<OpenPlatform> {
    const platform = await this.#options.open();
    this.#serve(platform);
    return platform;
  }

  /** Ends a rebuild, too; none begins afterwards. Never rejects. */
  async stopControllers(): Promise<void> {
    this.#stopping.abort();
    await this.#rebuilding;
    await this.#controllersStarted;
    await this.#platform?.stopControllers();
  }

  /** @throws Error if a part did not stop cleanly; it has been logged */
  async stop(): Promise<void> {
    await this.stopControllers();
    if ((await this.#platform?.stop()) === false) throw new Error('a part of the platform did not stop cleanly');
  }

  #serve(platform: OpenPlatform, othersStopped: Promise<unknown> = Promise.resolve()): void {
    this.#platform = platform;
    this.#options.serve(platform);
    this.#controllersStarted = this.#startControllers(platform, othersStopped);
    void platform.rewound.then((how) => this.#rewound(platform, how));
  }

  async #startControllers(platform: OpenPlatform, othersStopped: Promise<unknown>): Promise<void> {
    await othersStopped;
    if (this.#platform === platform && !this.#stopping.signal.aborted) platform.startControllers();
  }

  #rewound(platform: OpenPlatform, how: Rewind): void {
    if (this.#stopping.signal.aborted) return;
    if (how === 'failover') this.#rebuilding = this.#rebuild(platform);
    else
      this.#fail(
        'history that this process follows is gone: the database was restored, or its log was compacted too soon',
      );
  }

  /** Never rejects. */
  async #rebuild(before: OpenPlatform): Promise<void> {
    const { log, suspend } = this.#options;
    const since = performance.now();
    this.#platform = undefined;
    log.warn({}, 'a failover lost changes that this process knows: it rebuilds its state, and answers 503 meanwhile');
    const limit = setTimeout(
      () => this.#fail('the state of this process could not be rebuilt after a failover'),
      maxRebuildMs,
    );
    try {
      const controllersStopped = Promise.all([this.#controllersStarted, before.stopControllers()]);
      await Promise.all([suspend(rebuilding, { drainTimeoutMs }), isDoneWithin(controllerStopMs, controllersStopped)]);
      if (!(await before.stop())) {
        this.#fail('the state of this process could not be dropped after a failover');
        return;
      }
      const next = await this.#reopen(since + maxRebuildMs);
      if (next === undefined) return;
      if (this.#stopping.signal.aborted) {
        this.#platform = next;
        return;
      }
      this.#serve(next, controllersStopped);
      log.info({ tookMs: Math.round(performance.now() - since) }, 'rebuilt the state after a failover');
    } finally {
      clearTimeout(limit);
    }
  }

  /** Undefined if the process stops, or the time is over. */
  async #reopen(deadline: number): Promise<OpenPlatform | undefined> {
    const { log, open } = this.#options;
    const { signal } = this.#stopping;
    for (let pauseMs = firstPauseMs; !signal.aborted && performance.now() < deadline;) {
      try {
        return await open();
      } catch (error) {
        log.warn({ err: error }, 'could not rebuild the state after a failover; trying again');
      }
      await pause(pauseMs, signal);
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
    return undefined;
  }
}
