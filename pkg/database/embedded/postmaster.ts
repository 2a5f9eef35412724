import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from '../database-error.ts';
import { settledWithin } from '../settled-within.ts';
import type { Account } from './run-program.ts';
import { isPostmaster } from './pid-file.ts';
import { programEnvironment } from './run-program.ts';

const pollIntervalMs = 100;

/**
 * Shutdown of PostgreSQL: fast (clients are disconnected), then immediate (recovery at the next start), then SIGKILL.
 */
const shutdownSignals: readonly (readonly [NodeJS.Signals, number])[] = [
  ['SIGINT', 20_000],
  ['SIGQUIT', 6_000],
  ['SIGKILL', 2_000],
];

/** The main process of a running PostgreSQL: a child of this process, or an orphan of a killed server. */
export class Postmaster {
  readonly pid: number;
  readonly pgdata: string;
  readonly socketDirectory: string;
  /** Resolves, never rejects, when the process has ended. */
  readonly exited: Promise<void>;
  #stopping: Promise<void> | undefined;

  constructor(process: { pid: number; pgdata: string; socketDirectory: string }, exited: Promise<void>) {
    this.pid = process.pid;
    this.pgdata = process.pgdata;
    this.socketDirectory = process.socketDirectory;
    this.exited = exited;
  }

  /** Ends the process within 28 s. Throws DatabaseError if even SIGKILL fails. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#shutDown();
    return this.#stopping;
  }

  async #shutDown(): Promise<void> {
    for (const [signal, timeoutMs] of shutdownSignals) {
      // Checked before each signal: the process may be gone and its id reused.
      if (!(await isPostmaster(this.pid, this.pgdata))) return;
      signalTo(this.pid, signal);
      if (await settledWithin(this.exited, timeoutMs)) return;
    }
    throw new DatabaseError(`PostgreSQL (process ${this.pid}) on ${this.pgdata} does not stop; end that process.`);
  }
}

export interface SpawnPostmasterOptions {
  readonly postgres: string;
  readonly pgdata: string;
  readonly socketDirectory: string;
  readonly account: Account | undefined;
  readonly settings: Readonly<Record<string, string>>;
  /** File descriptor of the log. */
  readonly logFile: number;
}

/**
 * Starts PostgreSQL in its own session, so that Ctrl-C in the terminal reaches only the server, which stops its
 * database last.
 */
export async function spawnPostmaster(options: SpawnPostmasterOptions): Promise<Postmaster> {
  const args = ['-D', options.pgdata];
  for (const [name, value] of Object.entries(options.settings)) args.push('-c', `${name}=${value}`);
  const child = spawn(options.postgres, args, {
    cwd: '/',
    env: programEnvironment,
    detached: true,
    stdio: ['ignore', options.logFile, options.logFile],
    ...options.account,
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) =>
      reject(new DatabaseError(`PostgreSQL cannot be started: ${error.message}.`, { cause: error })),
    );
  });
  child.unref();
  if (child.pid === undefined) throw new DatabaseError('PostgreSQL was started, but the system gave no process id.');
  return new Postmaster({ pid: child.pid, pgdata: options.pgdata, socketDirectory: options.socketDirectory }, exited);
}

/** Adopts a running PostgreSQL that is not a child of this process. */
export function adoptPostmaster(pid: number, pgdata: string, socketDirectory: string): Postmaster {
  return new Postmaster({ pid, pgdata, socketDirectory }, goneFrom(pid, pgdata));
}

async function goneFrom(pid: number, pgdata: string): Promise<void> {
  while (await isPostmaster(pid, pgdata)) await delay(pollIntervalMs, undefined, { ref: false });
}

/** Signals a process that may be gone already. */
export function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
