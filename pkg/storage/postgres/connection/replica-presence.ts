import type { Pool } from 'pg';
import type { DatabaseLog, Notifications } from '#pkg/database/index';

/** Tells readers that the log grew; the payload is the process that wrote. */
export const changesChannel = 'svc_changes';
/** Without an answer to `hello` within this time, this process is alone. Milliseconds. */
const answerTimeoutMs = 1000;
/** Milliseconds. */
const announceIntervalMs = 5000;
/** How long a replica counts as present after its last notification. Milliseconds. */
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
 * Knows whether other replicas listen for changes. A notification wakes every listener of the database, including the
 * writer's own, so a process that is alone sends none with its commits.
 *
 * A process that begins to listen sends `hello`, and the others answer `here`; all of them repeat `here` periodically.
 * A process assumes that others are present until it has received its own `hello` and then no answer for a second. If a
 * `hello` is lost, other replicas see changes at their next poll, as with any lost notification.
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

  /** Whether other replicas are present; read before each commit. */
  get present(): boolean {
    return performance.now() < Math.max(this.#unknownUntil, this.#presentUntil);
  }

  /** Call it once this process listens for notifications. */
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

  /** Handles a notification; true if it announces changes of another process. */
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

  /** Runs after a reconnect: replicas that started meanwhile are unknown. */
  #greet(): void {
    this.#unknownUntil = Infinity;
    this.#announce('hello');
  }

  /** A failed announcement is repeated after the interval. */
  #announce(word: 'hello' | 'here'): void {
    if (this.#announcing !== undefined) return;
    const { pool, origin, log } = this.#options;
    this.#announcing = pool
      .query({ name: 'say', text: say, values: [`${word} ${origin}`] })
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error }, 'other replicas could not be notified of this one; trying again'),
      )
      .finally(() => (this.#announcing = undefined));
  }
}
