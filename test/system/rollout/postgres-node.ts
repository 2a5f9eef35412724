import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresAccount } from '#pkg/database/embedded/account';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { installedPostgres } from '../harness/process/installed-postgres.ts';
import { childrenOf, signalProcess } from '../harness/process/signal-process.ts';

const run = promisify(execFile);
export const postgresPort = 5432;
const superuser = 'postgres';
const startTimeoutMs = 60_000;
const stopTimeoutMs = 20_000;
const toolTimeoutMs = 120_000;
/** Timeout of one statement of the test. */
const queryTimeoutMs = 40_000;

const settings = [
  'wal_level=replica',
  'hot_standby=on',
  'max_wal_senders=10',
  // Two processes of each kind and one more during an update, with 49 connections each.
  'max_connections=400',
  'shared_buffers=64MB',
  'deadlock_timeout=500ms',
  'logging_collector=off',
];

export interface PostgresNodeOptions {
  name: string;
  /** Belongs to the test; PostgreSQL's user can enter it. */
  folder: string;
  /** Its address, with port `postgresPort`. */
  host: string;
}

/** One Debian PostgreSQL server with durable settings, run by its own user if we are root. */
export class PostgresNode {
  readonly name: string;
  readonly host: string;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  constructor({ name, folder, host }: PostgresNodeOptions) {
    this.name = name;
    this.host = host;
    this.#folder = folder;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get #data(): string {
    return join(this.#folder, this.name);
  }

  /** Creates an empty database cluster, and starts it. */
  async initialize(): Promise<void> {
    await this.#tool('initdb', [
      '-D',
      this.#data,
      '-A',
      'trust',
      '-U',
      superuser,
      '--locale=C',
      '-E',
      'UTF8',
      '--no-sync',
    ]);
    await this.#allow();
    await this.start();
  }

  /** Becomes a standby of another server, from a copy, and starts. Removes its earlier data. */
  async follow(primary: PostgresNode, slot: string): Promise<void> {
    await rm(this.#data, { recursive: true, force: true });
    const source = `host=${primary.host} port=${postgresPort} user=${superuser} application_name=${this.name}`;
    await this.#tool('pg_basebackup', [
      '-d',
      source,
      '-D',
      this.#data,
      '-X',
      'stream',
      '-R',
      '-S',
      slot,
      '-c',
      'fast',
      '--no-sync',
    ]);
    await this.start();
  }

  async start(): Promise<void> {
    const log = openSync(join(this.#folder, `${this.name}.log`), 'a');
    // A standby uses its cluster_name as its name in the primary's synchronous_standby_names.
    const all = [
      ...settings,
      `listen_addresses=${this.host}`,
      `port=${postgresPort}`,
      `unix_socket_directories=`,
      `cluster_name=${this.name}`,
    ];
    const child = spawn(
      join(await installedPostgres(), 'postgres'),
      ['-D', this.#data, ...all.flatMap((setting) => ['-c', setting])],
      {
        ...(await postgresAccount()),
        cwd: this.#folder,
        env: { LC_ALL: 'C' },
        stdio: ['ignore', log, log],
      },
    );
    closeSync(log);
    this.#child = child;
    child.once('exit', () => (this.#child = undefined));
    await retryUntilTrue(
      async () => {
        if (this.#child !== child) throw new Error(`${this.name} ended; its log is in ${this.#folder}`);
        await this.query('SELECT 1');
        return true;
      },
      { what: `${this.name} takes connections`, timeoutMs: startTimeoutMs },
    );
  }

  /**
   * A session of the test without proxies; the caller ends it. No unhandled errors: a lost session fails its next
   * query.
   */
  async connect(database = superuser): Promise<pg.Client> {
    const client = new pg.Client({
      host: this.host,
      port: postgresPort,
      user: superuser,
      database,
      application_name: 'rollout',
      connectionTimeoutMillis: 5_000,
      query_timeout: queryTimeoutMs,
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  /** Runs one statement in its own session. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = [], database?: string): Promise<Row[]> {
    const client = await this.connect(database);
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** ALTER SYSTEM and a reload; resolves when a new session sees the value. */
  async set(setting: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${setting} = '${value.replaceAll("'", "''")}'`);
    await this.query('SELECT pg_reload_conf()');
    await retryUntilTrue(
      async () => {
        const [row] = await this.query<{ value: string }>('SELECT current_setting($1) AS value', [setting]);
        return row?.value === value;
      },
      { what: `${this.name} has ${setting} = ${value}`, timeoutMs: startTimeoutMs },
    );
  }

  /** Kills all its processes at once (SIGKILL), like the loss of its machine. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const exited = once(child, 'exit');
    // So that it cannot start another one meanwhile.
    child.kill('SIGSTOP');
    for (const pid of await childrenOf(child.pid)) signalProcess(pid, 'SIGKILL');
    child.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    const late = setTimeout(() => child.kill('SIGQUIT'), stopTimeoutMs);
    await exited;
    clearTimeout(late);
  }

  /** Allows connections from addresses outside the default pg_hba.conf. */
  async #allow(): Promise<void> {
    const lines = [
      'local all all trust',
      'host all all 127.0.0.0/8 trust',
      'host replication all 127.0.0.0/8 trust',
      '',
    ].join('\\n');
    await run('sh', ['-c', `printf '${lines}' > "$0"`, join(this.#data, 'pg_hba.conf')], await postgresAccount());
  }

  async #tool(name: string, args: string[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await run(join(await installedPostgres(), name), args, {
      ...(await postgresAccount()),
      cwd: this.#folder,
      env: { LC_ALL: 'C' },
      timeout: toolTimeoutMs,
    });
  }
}
