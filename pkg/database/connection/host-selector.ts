import type pg from 'pg';
import { messageOf } from '../database-error.ts';
import type { DatabaseHost, DatabaseHosts, DatabaseTarget } from './database-hosts.ts';
import { isDatabaseUnreachable } from '../database-failure.ts';
import { endClient } from './end-client.ts';
import type { DatabaseLog } from '../log.ts';

/** A host that does not answer for so long is passed over. */
export const maxHostMs = 3_000;

/**
 * Which of several hosts to connect to. All are asked at once, by a connection of their own. `any` takes the first of
 * the list that answers, `primary` one that is no standby, `read-write` one that accepts writes. The choice stays until
 * a connection to it is lost or refused.
 */
export class HostSelector {
  readonly #hosts: DatabaseHosts;
  readonly #clientClass: typeof pg.Client;
  readonly #config: pg.ClientConfig;
  readonly #log: DatabaseLog;
  #chosen: Promise<DatabaseHost> | undefined;
  #last: DatabaseHost | undefined;

  /** `config`: everything but host and port. */
  constructor(hosts: DatabaseHosts, clientClass: typeof pg.Client, config: pg.ClientConfig, log: DatabaseLog) {
    this.#hosts = hosts;
    this.#clientClass = clientClass;
    this.#config = config;
    this.#log = log;
  }

  /** Rejects, with what a refused connection rejects with, if no host is suitable now. */
  choose(): Promise<DatabaseHost> {
    if (this.#chosen === undefined) {
      const chosen = this.#askAll();
      this.#chosen = chosen;
      // The next caller asks again.
      chosen.catch(() => {
        if (this.#chosen === chosen) this.#chosen = undefined;
      });
    }
    return this.#chosen;
  }

  /** Call it when a connection to the host is lost or refused, or the host turns out not to be suitable. */
  forget(host: DatabaseHost): void {
    if (this.#last === host) this.#chosen = undefined;
  }

  async #askAll(): Promise<DatabaseHost> {
    const { hosts, target } = this.#hosts;
    const asked = hosts.map((host) => this.#ask(host));
    const answers = Promise.allSettled(asked);
    const chosen = target === 'any' ? await firstInOrder(asked) : await Promise.any(asked).catch(() => undefined);
    if (chosen === undefined) throw newUnreachable(hosts, await answers);
    if (this.#last !== undefined && this.#last !== chosen)
      this.#log.info({ host: chosen.host, port: chosen.port }, 'connecting to another host of the database');
    this.#last = chosen;
    return chosen;
  }

  /** Resolves if the host is suitable. */
  async #ask(host: DatabaseHost): Promise<DatabaseHost> {
    const client = new this.#clientClass({
      ...this.#config,
      query_timeout: maxHostMs,
      connectionTimeoutMillis: maxHostMs,
    });
    Object.assign(client, host);
    client.on('error', () => {});
    try {
      await client.connect();
      const { target } = this.#hosts;
      if (target === 'any') return host;
      const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(
        `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only')::bool AS "isReadOnly"`,
      );
      const [{ isStandby, isReadOnly } = { isStandby: true, isReadOnly: true }] = rows;
      if (isStandby || (isReadOnly && target === 'read-write')) throw new UnsuitableHostError(target);
      return host;
    } finally {
      await endClient(client);
    }
  }
}

async function firstInOrder(asked: readonly Promise<DatabaseHost>[]): Promise<DatabaseHost | undefined> {
  for (const each of asked) {
    const host = await each.catch(() => undefined);
    if (host !== undefined) return host;
  }
  return undefined;
}

/**
 * One failure of PostgreSQL beside hosts that are not suitable is the reason itself. Of several a lasting one, such as a
 * wrong password, is told only if no host is away: that one may be the primary.
 */
function newUnreachable(hosts: readonly DatabaseHost[], answers: readonly PromiseSettledResult<DatabaseHost>[]): Error {
  const reasons = answers.map((answer) => (answer as PromiseRejectedResult).reason as Error);
  const failures = reasons.filter((reason) => !(reason instanceof UnsuitableHostError));
  const isOneAway = failures.some((failure) => isDatabaseUnreachable(failure));
  if (failures.length === 1 || (failures.length > 1 && !isOneAway)) return failures[0]!;
  const told = reasons.map((reason, i) => `${hosts[i]!.host}:${hosts[i]!.port}: ${messageOf(reason)}`);
  return Object.assign(new Error(`no host of the database is suitable (${told.join('; ')})`), { code: 'ECONNREFUSED' });
}

/** A host answered, but is not the wanted one. It counts as a database that is away: another host may come. */
export class UnsuitableHostError extends Error {
  readonly code = 'ECONNREFUSED';

  constructor(target: DatabaseTarget) {
    super(target === 'primary' ? 'it is a standby' : 'it accepts no writes');
    this.name = 'UnsuitableHostError';
  }
}
