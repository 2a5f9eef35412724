import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Database } from './database.ts';
import { messageOf } from './database-error.ts';
import { endClient } from './connection/end-client.ts';
import type { DatabaseLog } from './log.ts';
import { settledWithin } from './settled-within.ts';

export interface NotificationsOptions {
  readonly database: Database;
  readonly log: DatabaseLog;
  /** Interval of checks of the connection, in milliseconds; 10 000 by default. */
  readonly probeIntervalMs?: number;
  /** How long the connection may take to answer, in milliseconds; 5 000 by default. */
  readonly probeTimeoutMs?: number;
  /** Longest pause between two attempts to connect, in milliseconds; 5 000 by default. */
  readonly longestBackOffMs?: number;
}

interface Session {
  readonly client: pg.Client;
  readonly lost: AbortSignal;
}

export type NotificationListener = (payload: string) => void;

const minBackoffMs = 50;

/**
 * LISTEN on a dedicated connection, which is reopened when it is lost.
 *
 * A notification is a hint: those sent without a connection are lost, and `onReconnect` tells listeners to read the
 * database again. A connection whose other end has vanished is noticed within the probe's interval and timeout.
 */
export class Notifications {
  readonly #options: Required<NotificationsOptions>;
  readonly #listeners = new Map<string, Set<NotificationListener>>();
  readonly #reconnectListeners = new Set<() => void>();
  readonly #ending = new AbortController();
  #client: pg.Client | undefined;
  #starting: Promise<void> | undefined;
  #running: Promise<void> | undefined;

  constructor(options: NotificationsOptions) {
    this.#options = { probeIntervalMs: 10_000, probeTimeoutMs: 5_000, longestBackOffMs: 5_000, ...options };
  }

  /** Connects. If that fails, it retries in the background, and a later success counts as a reconnect. */
  start(): Promise<void> {
    this.#starting ??= this.#begin();
    return this.#starting;
  }

  /**
   * Calls the listener with the payload of each notification; returns a function that ends it. Resolves once no later
   * notification is missed, or at once without a connection: a reconnect follows then.
   */
  async on(channel: string, listener: NotificationListener): Promise<() => void> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    // A failure here is a lost connection, of which `run` hears by itself.
    if (this.#client !== undefined) await this.#listen(this.#client, channel).catch(() => {});
    return () => {
      listeners.delete(listener);
    };
  }

  /** Calls the listener whenever notifications may have been missed; returns a function that ends it. */
  onReconnect(listener: () => void): () => void {
    this.#reconnectListeners.add(listener);
    return () => {
      this.#reconnectListeners.delete(listener);
    };
  }

  /** Ends the connection. Idempotent. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#starting;
    await this.#running;
  }

  async #begin(): Promise<void> {
    const first = await this.#connect();
    this.#running = this.#run(first);
  }

  async #run(first: Session | undefined): Promise<void> {
    const { longestBackOffMs } = this.#options;
    let backOffMs = minBackoffMs;
    for (let session = first; ; session = await this.#connect()) {
      if (session !== undefined) {
        if (session !== first) this.#reconnectListeners.forEach((listener) => this.#call(listener));
        await this.#watch(session);
        backOffMs = minBackoffMs;
      }
      if (this.#ending.signal.aborted) return;
      await delay(backOffMs, undefined, { signal: this.#ending.signal }).catch(() => {});
      if (this.#ending.signal.aborted) return;
      backOffMs = Math.min(backOffMs * 2, longestBackOffMs);
    }
  }

  async #connect(): Promise<Session | undefined> {
    let client: pg.Client | undefined;
    try {
      const lost = new AbortController();
      client = await this.#options.database.newClient('listener');
      client.once('error', () => lost.abort());
      client.once('end', () => lost.abort());
      client.on('notification', ({ channel, payload = '' }) => {
        this.#listeners.get(channel)?.forEach((listener) => this.#call(() => listener(payload)));
      });
      // Set first: a channel added while the others are listened to sees it.
      this.#client = client;
      for (const channel of this.#listeners.keys()) await this.#listen(client, channel);
      return { client, lost: lost.signal };
    } catch (error) {
      this.#options.log.warn(
        { reason: messageOf(error) },
        'notifications of the database are not available; trying again',
      );
      this.#client = undefined;
      if (client !== undefined) await endClient(client);
      return undefined;
    }
  }

  /** Resolves when the connection is lost or no longer wanted; it is closed then. */
  async #watch({ client, lost }: Session): Promise<void> {
    const { probeIntervalMs } = this.#options;
    const over = AbortSignal.any([lost, this.#ending.signal]);
    try {
      while (!over.aborted) {
        await delay(probeIntervalMs, undefined, { signal: over });
        await this.#within(client.query('SELECT 1'));
      }
    } catch (error) {
      if (!over.aborted)
        this.#options.log.warn(
          { reason: messageOf(error) },
          'the connection for notifications does not answer; opening another',
        );
    } finally {
      this.#client = undefined;
      await endClient(client);
    }
  }

  async #listen(client: pg.Client, channel: string): Promise<void> {
    await this.#within(client.query(`LISTEN ${pg.escapeIdentifier(channel)}`));
  }

  async #within(answer: Promise<unknown>): Promise<void> {
    if (!(await settledWithin(answer, this.#options.probeTimeoutMs))) throw new Error('no answer in time');
    await answer;
  }

  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#options.log.error({ err: error }, 'a listener for notifications failed');
    }
  }
}
