import pg from 'pg';
import { messageOf } from './database-error.ts';
import type { DatabaseHost, DatabaseHosts } from './database-hosts.ts';
import { databaseFailure } from './database-failure.ts';
import { endClient } from './end-client.ts';
import type { DatabaseLog } from './log.ts';

/** A host that does not answer for so long is passed over. */
const maxProbeMs = 3_000;

/**
 * Which of several hosts to connect to. All are asked at once, by a connection of their own; with target `any` the first
 * of the list that answers is taken, else the one that accepts writes. The choice stays until a connection to it is
 * lost or refused.
 */
export class HostSelector {
  readonly #hosts: DatabaseHosts;
  readonly #config: pg.ClientConfig;
  readonly #log: DatabaseLog;
  #chosen: Promise<DatabaseHost> | undefined;
  #last: DatabaseHost | undefined;

  /** `config`: everything but host and port. */
  constructor(hosts: DatabaseHosts, config: pg.ClientConfig, log: DatabaseLog) {
    this.#hosts = hosts;
    this.#config = config;
    this.#log = log;
  }

  /** Rejects, with what a refused connection rejects with, if no host is suitable now. */
  choose(): Promise<DatabaseHost> {
    if (this.#chosen === undefined) {
      const chosen = this.#askAll();
      this.#chosen = chosen;
      // The next caller asks again.
      chosen.catch(() => this.#forget(chosen));
    }
    return this.#chosen;
  }

  /** Call it when a connection is lost, refused, or turns out not to accept writes. */
  forget(): void {
    this.#chosen = undefined;
  }

  #forget(chosen: Promise<DatabaseHost>): void {
    if (this.#chosen === chosen) this.#chosen = undefined;
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
    const client = new pg.Client({ ...this.#config, query_timeout: maxProbeMs, connectionTimeoutMillis: maxProbeMs });
    Object.assign(client, host);
    client.on('error', () => {});
    try {
      await client.connect();
      if (this.#hosts.target === 'any') return host;
      const { rows } = await client.query<{ isReadOnly: boolean }>(
        `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS "isReadOnly"`,
      );
      if (rows[0]?.isReadOnly !== false) throw newReadOnly();
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

/** A refusal of PostgreSQL, such as a wrong password, says more than that another host is away. */
function newUnreachable(hosts: readonly DatabaseHost[], answers: readonly PromiseSettledResult<DatabaseHost>[]): Error {
  const reasons = answers.map((answer) => (answer as PromiseRejectedResult).reason as Error);
  const refusal = reasons.find((reason) => databaseFailure(reason) === 'connection_refused');
  if (refusal !== undefined) return refusal;
  const told = reasons.map((reason, i) => `${hosts[i]!.host}:${hosts[i]!.port}: ${messageOf(reason)}`);
  return Object.assign(new Error(`no host of the database is suitable (${told.join('; ')})`), { code: 'ECONNREFUSED' });
}

/** Of a connection to a host that is not the wanted one. */
export function newReadOnly(): Error {
  return Object.assign(new Error('it accepts no writes'), { code: 'ECONNREFUSED' });
}
