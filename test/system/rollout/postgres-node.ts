import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { pollUntil } from '../harness/poll-until.ts';

const run = promisify(execFile);
export const postgresPort = 5432;
const superuser = 'postgres';
const installed = '/usr/lib/postgresql';
const startTimeoutMs = 60_000;
const stopTimeoutMs = 20_000;
const toolTimeoutMs = 120_000;
/** Of one statement of ours. */
const queryTimeoutMs = 40_000;

const settings = [
  'wal_level=replica',
  'hot_standby=on',
  'max_wal_senders=10',
  // Two of each process and one more while they are rolled over, 49 connections each.
  'max_connections=400',
  'shared_buffers=64MB',
  'deadlock_timeout=500ms',
  'logging_collector=off',
];

export interface PostgresNodeOptions {
  name: string;
  /** Ours alone; its user can enter it. */
  folder: string;
  /** Address it listens on, with `postgresPort`. */
  host: string;
}

/** One PostgreSQL server of Debian's, with durable settings, run by its own user where we are root. */
export class PostgresNode {
  readonly name: string;
  readonly host: string;
  readonly #folder: string;
  readonly #bin = newestBin();
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

  /** Makes an empty database cluster, and starts it. */
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

  /** Becomes a standby of another, from a copy of it, and starts. What was here before is removed. */
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
    // A standby names itself by its cluster_name to the primary, whose synchronous_standby_names knows it by that.
    const all = [
      ...settings,
      `listen_addresses=${this.host}`,
      `port=${postgresPort}`,
      `unix_socket_directories=`,
      `cluster_name=${this.name}`,
    ];
    const child = spawn(join(this.#bin, 'postgres'), ['-D', this.#data, ...all.flatMap((setting) => ['-c', setting])], {
      ...(await postgresUser()),
      cwd: this.#folder,
      env: { LC_ALL: 'C' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    child.once('exit', () => (this.#child = undefined));
    await pollUntil(
      async () => {
        if (this.#child !== child) throw new Error(`${this.name} ended; its log is in ${this.#folder}`);
        await this.query('SELECT 1');
        return true;
      },
      { what: `${this.name} takes connections`, timeoutMs: startTimeoutMs },
    );
  }

  /**
   * A session of our own, past every proxy; the caller ends it. Never throws later: a lost one fails its next query.
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

  /** One statement in a session of its own. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = [], database?: string): Promise<Row[]> {
    const client = await this.connect(database);
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** ALTER SYSTEM and a reload; resolves when a new session sees it. */
  async set(setting: string, value: string): Promise<void> {
    await this.query(`ALTER SYSTEM SET ${setting} = '${value.replaceAll("'", "''")}'`);
    await this.query('SELECT pg_reload_conf()');
    await pollUntil(
      async () => {
        const [row] = await this.query<{ value: string }>('SELECT current_setting($1) AS value', [setting]);
        return row?.value === value;
      },
      { what: `${this.name} has ${setting} = ${value}`, timeoutMs: startTimeoutMs },
    );
  }

  /** All its processes at once (SIGKILL), as when its machine is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const exited = once(child, 'exit');
    // It cannot make another meanwhile.
    child.kill('SIGSTOP');
    for (const pid of await childrenOf(child.pid)) signal(pid, 'SIGKILL');
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

  /** Also from a machine that is not in this file. */
  async #allow(): Promise<void> {
    const lines = [
      'local all all trust',
      'host all all 127.0.0.0/8 trust',
      'host replication all 127.0.0.0/8 trust',
      '',
    ].join('\\n');
    await run('sh', ['-c', `printf '${lines}' > "$0"`, join(this.#data, 'pg_hba.conf')], await postgresUser());
  }

  async #tool(name: string, args: string[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await run(join(this.#bin, name), args, {
      ...(await postgresUser()),
      cwd: this.#folder,
      env: { LC_ALL: 'C' },
      timeout: toolTimeoutMs,
    });
  }
}

/** Debian keeps each major version in a folder of its own. */
function newestBin(): string {
  const [newest] = readdirSync(installed).toSorted((a, b) => Number(b) - Number(a));
  if (newest === undefined) throw new Error(`no PostgreSQL in ${installed}: install Debian's postgresql`);
  return join(installed, newest, 'bin');
}

/** PostgreSQL refuses to run as root. */
export async function postgresUser(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody') ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('neither a user postgres nor nobody is there to run PostgreSQL');
  return { uid: Number(uid), gid: Number(gid) };
}

async function childrenOf(parent: number): Promise<number[]> {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** To a process that may be gone by now. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone.
  }
}
