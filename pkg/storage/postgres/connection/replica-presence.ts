import type { Pool } from 'pg';
import type { DatabaseLog, Notifications } from '#pkg/database/index';

/** Tells readers that the log grew; the payload is the process that wrote. */
export const changesChannel = 'svc_changes';
/** How long an answer to our greeting may take before we believe that nobody is there. Milliseconds. */
const answerTimeoutMs = 1000;
/** Milliseconds. */
const announceIntervalMs = 5000;
/** How long a process counts as there since it was last heard. Milliseconds. */
const presenceMs = 3 * announceIntervalMs;
const say = `SELECT set_config('synchronous_commit', 'off', true), pg_notify('${changesChannel}', $1)`;

export interface ReplicaPresenceOptions {
  pool: Pool;
  notifications: Notifications;
  /** This process's mark in notifications. */
  origin: string;
  log: DatabaseLog;
}

/**
 * Whether other processes listen for changes. A notification wakes every listener in the database, the writer's own
 * among them: a process that is alone spares itself that with each commit.
 *
 * Whoever begins to listen says hello, and is answered; all say now and then that they are here. Until a process has
 * heard its own greeting and, for a second, no answer, it takes it that others are there. Where a greeting is lost,
 * others see changes at their next poll, as with any lost notification.
 */
export class ReplicaPresence {
  readonly #options: ReplicaPresenceOptions;
  #unknownUntil = Infinity;
  #presentUntil = 0;
  #unsubscribe: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #announcing: Promise<void> | undefined;

  constructor(options: ReplicaPresenceOptions) {
    this.#options = options;
  }

  /** To be asked for each commit. */
  get present(): boolean {
    return performance.now() < Math.max(this.#unknownUntil, this.#presentUntil);
  }

  /** Once notifications are listened to. */
  start(): void {
    this.#unsubscribe = this.#options.notifications.onReconnect(() => this.#greet());
    this.#timer = setInterval(
      () => this.#announce(this.#unknownUntil === Infinity ? 'hello' : 'here'),
      announceIntervalMs,
    );
    this.#greet();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#unsubscribe();
    await this.#announcing;
  }

  /** Takes in a notification; true if it speaks of changes made by another process. */
  heard(payload: string): boolean {
    const [word, sender] = payload.includes(' ') ? payload.split(' ', 2) : ['', payload];
    if (sender === this.#options.origin) {
      if (word === 'hello' && this.#unknownUntil === Infinity) this.#unknownUntil = performance.now() + answerTimeoutMs;
      return false;
    }
    this.#presentUntil = performance.now() + presenceMs;
    if (word === 'hello') this.#announce('here');
    return word === '';
  }

  /** Who came while nothing was heard is not known. */
  #greet(): void {
    this.#unknownUntil = Infinity;
    this.#announce('hello');
  }

  /** What cannot be said now is said again at the next interval. */
  #announce(word: 'hello' | 'here'): void {
    if (this.#announcing !== undefined) return;
    const { pool, origin, log } = this.#options;
    this.#announcing = pool
      .query({ name: 'say', text: say, values: [`${word} ${origin}`] })
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error }, 'other replicas could not be greeted; trying again'),
      )
      .finally(() => (this.#announcing = undefined));
  }
}
