import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../harness/free-port.ts';
import type { FaultPostgres } from './fault-postgres.ts';
import { FaultProxy } from './fault-proxy.ts';
import { pollUntil } from '../harness/poll-until.ts';

const program = fileURLToPath(new URL('../../../dist/cmd/svc/main.js', import.meta.url));
const clockShift = new URL('clock-shift.mjs', import.meta.url).href;
const readyTimeoutMs = 90_000;
/** Longer than the server's own time limit for an end. */
const stopTimeoutMs = 45_000;
const relaunchMs = 300;
/**
 * Small enough that history is cut by size within a run, large enough that a server that was frozen for seconds finds
 * its place.
 */
const logMaxSize = '16MiB';

export interface ReplicaOptions {
  name: string;
  /** Its log, its data folder and its clock go here. */
  folder: string;
  postgres: FaultPostgres;
  token: string;
}

/**
 * One built `svc apiserver`, with its own way to the database and its own clock, and whoever starts it anew when it
 * ended.
 */
export class Replica {
  readonly name: string;
  readonly proxy: FaultProxy;
  readonly port: number;
  readonly logFile: string;
  /** Ends that nobody here asked for. */
  readonly unexpectedEnds: string[] = [];
  readonly #options: ReplicaOptions;
  readonly #clockFile: string;
  #child: ChildProcess | undefined;
  #isMeantToRun = false;
  #hasBeenReady = false;

  static async start(options: ReplicaOptions): Promise<Replica> {
    const proxy = await FaultProxy.start(options.postgres.socketPath);
    const replica = new Replica(options, proxy, await freePort());
    await mkdir(replica.#dataDir, { recursive: true });
    try {
      replica.launch();
      await replica.ready();
      return replica;
    } catch (error) {
      await replica.stop();
      throw error;
    }
  }

  private constructor(options: ReplicaOptions, proxy: FaultProxy, port: number) {
    this.name = options.name;
    this.proxy = proxy;
    this.port = port;
    this.#options = options;
    this.logFile = join(options.folder, `${options.name}.log`);
    this.#clockFile = join(options.folder, `${options.name}.clock`);
    this.setClock(0);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get #dataDir(): string {
    return join(this.#options.folder, this.name);
  }

  /** Sets the server's wall clock ahead, or back. */
  setClock(aheadMs: number): void {
    writeFileSync(this.#clockFile, String(aheadMs));
  }

  /** Starts the process, where there is none. */
  launch(): void {
    if (this.#child !== undefined) return;
    const { postgres, token } = this.#options;
    const log = openSync(this.logFile, 'a');
    const args = [
      '--enable-source-maps',
      `--import=${clockShift}`,
      program,
      'apiserver',
      `--svc.server.port=${this.port}`,
      `--svc.data.dir=${this.#dataDir}`,
      `--svc.database.url=${postgres.url(this.proxy.port, this.name)}`,
      `--svc.security.initial-admin-token=${token}`,
      `--svc.storage.log-max-size=${logMaxSize}`,
    ];
    // No variable of the shell may change what is tried.
    const child = spawn(process.execPath, args, {
      cwd: this.#dataDir,
      env: { FAULTS_CLOCK: this.#clockFile },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    this.#isMeantToRun = true;
    this.#hasBeenReady = false;
    child.once('exit', (code, signal) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      if (!this.#isMeantToRun) return;
      // A start without a database fails, as it should.
      if (this.#hasBeenReady || code !== 1)
        this.unexpectedEnds.push(`${this.name} ended by itself with ${signal ?? `code ${code}`}`);
      // As a supervisor would, so that the rest of the run is worth something.
      setTimeout(() => this.#isMeantToRun && this.launch(), relaunchMs);
    });
  }

  /** Sends a signal that is to be survived: SIGSTOP, SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal);
  }

  /** Ends the process: SIGKILL at once, SIGTERM as it likes. Resolves with whether it went by the rules. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
    const child = this.#child;
    this.#isMeantToRun = false;
    if (child === undefined) return true;
    const exited = once(child, 'exit') as Promise<[number | null, string | null]>;
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    const [code, by] = await exited;
    clearTimeout(late);
    return signal === 'SIGKILL' || code === 0 || (by !== 'SIGKILL' && code === 1);
  }

  /** Resolves when it answers that it is ready. */
  async ready(): Promise<void> {
    await pollUntil(() => this.isReady(), { what: `${this.name} is ready`, timeoutMs: readyTimeoutMs });
    this.#hasBeenReady = true;
  }

  async isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/readyz`, { signal: AbortSignal.timeout(5_000) });
    await answer.arrayBuffer();
    return answer.ok;
  }

  async stop(): Promise<void> {
    this.signal('SIGCONT');
    await this.end('SIGTERM');
    await this.proxy.stop();
  }
}
