import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { postgresAccount } from '#pkg/database/embedded/account';
import { installedPostgres } from '../../harness/process/installed-postgres.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { childrenOf, signalProcess } from '../../harness/process/signal-process.ts';
import { patroniFile, patroniText, ports, type Machine, type PatroniFile } from './config-files.ts';

const requestTimeoutMs = 5_000;
/** Timeout of one statement of the test. */
const queryTimeoutMs = 40_000;

export interface PatroniNodeOptions {
  /** Those with a PostgreSQL server or an etcd member. */
  machines: readonly Machine[];
  machine: Machine;
  /** Belongs to PostgreSQL's user. */
  folder: string;
  isSynchronous: boolean;
}

/** A machine's Patroni with its PostgreSQL, run by PostgreSQL's user if we are root. */
export class PatroniNode {
  readonly name: string;
  readonly host: string;
  readonly logFile: string;
  readonly file: PatroniFile;
  readonly #configFile: string;
  #child: ChildProcess | undefined;

  static async prepare({ machines, machine, folder, isSynchronous }: PatroniNodeOptions): Promise<PatroniNode> {
    const file = await patroniFile(machines, machine, {
      dataDir: join(folder, machine.name),
      binDir: await installedPostgres(),
      isSynchronous,
    });
    const configFile = join(folder, `${machine.name}.yml`);
    writeFileSync(configFile, patroniText(file));
    return new PatroniNode(machine, file, configFile);
  }

  private constructor({ name, host }: Machine, file: PatroniFile, configFile: string) {
    this.name = name;
    this.host = host;
    this.file = file;
    this.#configFile = configFile;
    this.logFile = configFile.replace(/\.yml$/, '.log');
  }

  get restUrl(): string {
    return `http://${this.host}:${ports.patroni}`;
  }

  /** Starts the process; it starts PostgreSQL. */
  async launch(): Promise<void> {
    const log = openSync(this.logFile, 'a');
    const child = spawn('patroni', [this.#configFile], {
      ...(await postgresAccount()),
      cwd: join(this.#configFile, '..'),
      env: { PATH: '/usr/bin:/bin', HOME: join(this.#configFile, '..'), LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    child.once('error', () => undefined);
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
  }

  /** Whether this Patroni says that its PostgreSQL is the primary, as a load balancer asks. */
  async isPrimary(): Promise<boolean> {
    const answer = await fetch(`${this.restUrl}/primary`, {
      method: 'HEAD',
      signal: AbortSignal.timeout(requestTimeoutMs),
    });
    return answer.ok;
  }

  /** A session as superuser, without proxies; the caller ends it. A lost session fails its next query. */
  async connect(database: string): Promise<pg.Client> {
    return connectTo(this.host, database, this.file);
  }

  /** Kills Patroni and all processes of PostgreSQL at once (SIGKILL), like the loss of its machine. */
  async kill(): Promise<void> {
    const child = this.#child;
    const exited = child === undefined ? undefined : once(child, 'exit');
    // So that neither starts another process meanwhile.
    child?.kill('SIGSTOP');
    const postmaster = await this.#postmaster();
    if (postmaster !== undefined) {
      signalProcess(postmaster, 'SIGSTOP');
      for (const pid of await childrenOf(postmaster)) signalProcess(pid, 'SIGKILL');
      signalProcess(postmaster, 'SIGKILL');
    }
    child?.kill('SIGKILL');
    await exited;
    if (postmaster === undefined) return;
    await retryUntilTrue(() => !signalProcess(postmaster, 0), { what: `${this.name} is killed`, timeoutMs: 10_000 });
  }

  /** Pauses what sends WAL to standbys, so that they lack the next commits. */
  async pauseSenders(): Promise<void> {
    const client = await this.connect('postgres');
    try {
      const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_replication');
      for (const { pid } of rows) signalProcess(pid, 'SIGSTOP');
    } finally {
      await client.end();
    }
  }

  /** Undefined if PostgreSQL does not run. */
  async #postmaster(): Promise<number | undefined> {
    const dataDir = this.file.postgresql.data_dir;
    const text = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '');
    const pid = Number.parseInt(text, 10);
    if (!(pid > 0)) return undefined;
    // The file outlives a kill, and another process may have the number since.
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return command.includes(dataDir) ? pid : undefined;
  }
}

/** A session as superuser at an address. */
export async function connectTo(host: string, database: string, { postgresql }: PatroniFile): Promise<pg.Client> {
  const { username, password } = postgresql.authentication.superuser;
  const client = new pg.Client({
    host,
    port: ports.postgres,
    user: username,
    password,
    database,
    application_name: 'patroni-suite',
    connectionTimeoutMillis: 3_000,
    query_timeout: queryTimeoutMs,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}
