import { execFile, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { postgresAccount } from '#pkg/database/embedded/account';
import { installedPostgres } from '../../harness/process/installed-postgres.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { childrenOf, signalProcess } from '../../harness/process/signal-process.ts';
import {
  patroniFile,
  patroniText,
  ports,
  type Machine,
  type PatroniFile,
  type StandbyCluster,
} from './config-files.ts';

const requestTimeoutMs = 5_000;
const ctlTimeoutMs = 300_000;
const stopTimeoutMs = 90_000;
/** Timeout of one statement of the test. */
const queryTimeoutMs = 40_000;

export interface PatroniNodeOptions {
  /** Those with an etcd member. */
  machines: readonly Machine[];
  machine: Machine;
  /** Belongs to PostgreSQL's user. */
  folder: string;
  isSynchronous: boolean;
  /** Its cluster begins as a standby of another one. */
  standbyCluster?: StandbyCluster;
}

/** A machine's Patroni with its PostgreSQL, run by PostgreSQL's user if we are root. */
export class PatroniNode {
  readonly name: string;
  readonly host: string;
  readonly logFile: string;
  readonly file: PatroniFile;
  readonly #configFile: string;
  #child: ChildProcess | undefined;

  static async prepare({ machines, machine, folder, ...settings }: PatroniNodeOptions): Promise<PatroniNode> {
    const file = await patroniFile(machines, machine, {
      dataDir: join(folder, machine.name),
      binDir: await installedPostgres(),
      ...settings,
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
      ...(await this.#surroundings()),
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    child.once('error', () => undefined);
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
  }

  /** Runs `patronictl`, as an operator does; resolves with its output. */
  async ctl(...args: string[]): Promise<string> {
    const options = { ...(await this.#surroundings()), timeout: ctlTimeoutMs };
    const { stdout } = await promisify(execFile)('patronictl', ['-c', this.#configFile, ...args], options);
    return stdout;
  }

  /** Stops Patroni, which stops PostgreSQL (SIGTERM). A primary sends its standbys everything before it ends. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const exited = once(child, 'exit', { signal: AbortSignal.timeout(stopTimeoutMs) });
    child.kill('SIGTERM');
    await exited;
  }

  /** Whether this Patroni says that its PostgreSQL is the primary, as a load balancer asks. */
  async isPrimary(): Promise<boolean> {
    return this.answers('primary');
  }

  /** Patroni's answer to a load balancer: `leader` also holds for the first server of a standby cluster. */
  async answers(check: 'leader' | 'primary'): Promise<boolean> {
    const answer = await fetch(`${this.restUrl}/${check}`, {
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

  /** Stops the processes for a while (SIGSTOP): of Patroni and PostgreSQL, like a machine that hangs, or of one. */
  async pause(what: 'machine' | 'patroni'): Promise<void> {
    await this.#signal(what, 'SIGSTOP');
  }

  /** Ends a pause. */
  async resume(): Promise<void> {
    await this.#signal('machine', 'SIGCONT');
  }

  async #signal(what: 'machine' | 'patroni', signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    this.#child?.kill(signal);
    const postmaster = what === 'machine' ? await this.#postmaster() : undefined;
    if (postmaster === undefined) return;
    signalProcess(postmaster, signal);
    for (const pid of await childrenOf(postmaster)) signalProcess(pid, signal);
  }

  /** Removes the data, and lets the cluster begin as a standby. Patroni must not run. */
  async beginAnew(standbyCluster: StandbyCluster): Promise<void> {
    await rm(this.file.postgresql.data_dir, { recursive: true });
    this.file.bootstrap.dcs.standby_cluster = standbyCluster;
    writeFileSync(this.#configFile, patroniText(this.file));
  }

  /** The position in the WAL of the last checkpoint: after a clean stop, of the last record. */
  async lastCheckpoint(): Promise<string> {
    const { data_dir: dataDir, bin_dir: binDir } = this.file.postgresql;
    const { stdout } = await promisify(execFile)(join(binDir, 'pg_controldata'), [dataDir], { env: { LC_ALL: 'C' } });
    const [, position] = /^Latest checkpoint location: +(\S+)$/m.exec(stdout) ?? [];
    if (position === undefined) throw new Error(`pg_controldata tells no checkpoint of ${this.name}`);
    return position;
  }

  /** Pauses what sends WAL to standbys, or to those of these names, so that they lack the next commits. */
  async pauseSenders(names?: readonly string[]): Promise<void> {
    const client = await this.connect('postgres');
    try {
      const { rows } = await client.query<{ pid: number }>(
        'SELECT pid FROM pg_stat_replication WHERE $1::text[] IS NULL OR application_name = ANY ($1)',
        [names ?? null],
      );
      for (const { pid } of rows) signalProcess(pid, 'SIGSTOP');
    } finally {
      await client.end();
    }
  }

  async #surroundings(): Promise<Pick<SpawnOptions, 'uid' | 'gid'> & { cwd: string; env: NodeJS.ProcessEnv }> {
    const home = join(this.#configFile, '..');
    return {
      ...(await postgresAccount()),
      cwd: home,
      env: { PATH: '/usr/bin:/bin', HOME: home, LC_ALL: 'C.UTF-8' },
    };
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
