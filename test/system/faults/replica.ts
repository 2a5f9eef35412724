import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerProcess, type ExitStatus } from '../harness/process/server-process.ts';
import { freePort } from '../harness/process/free-port.ts';
import type { FaultPostgres } from './fault-postgres.ts';
import type { FaultStandby } from './fault-standby.ts';
import { FaultProxy } from '../harness/process/fault-proxy.ts';
import { retryUntilTrue } from '../harness/retry-until-true.ts';

const clockShift = new URL('clock-shift.mjs', import.meta.url).href;
const readyTimeoutMs = 90_000;
/** Longer than the server's own drain timeout. Milliseconds. */
const stopTimeoutMs = 45_000;
const relaunchMs = 300;
/**
 * Small enough that history is compacted by size within a run, and large enough that a server that was paused for
 * seconds can resume.
 */
const logMaxSize = '16MiB';

export interface ReplicaOptions {
  name: string;
  /** Contains its log, its data folder and its clock file. */
  folder: string;
  postgres: FaultPostgres;
  token: string;
  /** How many processes share its port. Default 1. */
  workers?: number;
  /** Answers its reads. */
  standby?: FaultStandby | undefined;
}

/** One built `svc apiserver` with its own database connection and clock, restarted when it ends. */
export class Replica {
  readonly name: string;
  readonly proxy: FaultProxy;
  /** To the standby that answers its reads. */
  readonly standbyProxy: FaultProxy | undefined;
  readonly port: number;
  readonly logFile: string;
  /** Ends that the test did not cause. */
  readonly unexpectedEnds: string[] = [];
  readonly #options: ReplicaOptions;
  readonly #clockFile: string;
  #server: ServerProcess | undefined;
  #isMeantToRun = false;
  #hasBeenReady = false;

  static async start(options: ReplicaOptions): Promise<Replica> {
    const proxy = await FaultProxy.start(options.postgres.socketPath);
    const { standby } = options;
    const standbyProxy = standby === undefined ? undefined : await FaultProxy.start(standby.socketPath);
    const replica = new Replica(options, { proxy, standbyProxy, port: await freePort() });
    try {
      replica.launch();
      await replica.ready();
      return replica;
    } catch (error) {
      await replica.stop();
      throw error;
    }
  }

  private constructor(
    options: ReplicaOptions,
    { proxy, standbyProxy, port }: { proxy: FaultProxy; standbyProxy: FaultProxy | undefined; port: number },
  ) {
    this.name = options.name;
    this.proxy = proxy;
    this.standbyProxy = standbyProxy;
    this.port = port;
    this.#options = options;
    this.logFile = join(options.folder, `${options.name}.log`);
    this.#clockFile = join(options.folder, `${options.name}.clock`);
    this.setClock(0);
  }

  get workers(): number {
    return this.#options.workers ?? 1;
  }

  get pid(): number {
    return this.#server?.pid ?? 0;
  }

  /** Sets the server's wall clock ahead or back. */
  setClock(aheadMs: number): void {
    writeFileSync(this.#clockFile, String(aheadMs));
  }

  /** Starts the process unless it runs. */
  launch(): void {
    if (this.#server !== undefined) return;
    const { folder, postgres, token } = this.#options;
    const server = new ServerProcess({
      name: this.name,
      folder,
      command: 'apiserver',
      args: [
        `--svc.server.port=${this.port}`,
        `--svc.data.dir=${join(folder, this.name)}`,
        `--svc.database.url=${postgres.urlThrough(this.proxy.port)}`,
        ...(this.standbyProxy === undefined
          ? []
          : [`--svc.database.read-url=${postgres.urlThrough(this.standbyProxy.port)}`]),
        `--svc.security.initial-admin-token=${token}`,
        `--svc.server.workers=${this.workers}`,
        `--svc.storage.log-max-size=${logMaxSize}`,
      ],
      nodeArgs: ['--enable-source-maps', `--import=${clockShift}`],
      env: { FAULTS_CLOCK: this.#clockFile },
      stopTimeoutMs,
    });
    this.#server = server;
    this.#isMeantToRun = true;
    this.#hasBeenReady = false;
    void server.exited.then((status) => this.#ended(server, status));
  }

  #ended(server: ServerProcess, status: ExitStatus): void {
    if (this.#server !== server) return;
    this.#server = undefined;
    if (!this.#isMeantToRun) return;
    // A start without a database may fail.
    if (this.#hasBeenReady || status !== 1)
      this.unexpectedEnds.push(
        `${this.name} ended by itself with ${typeof status === 'number' ? `code ${status}` : status}`,
      );
    // Restarts it like a supervisor, so that the rest of the run is useful.
    setTimeout(() => this.#isMeantToRun && this.launch(), relaunchMs);
  }

  /** Sends a signal that the process and its workers must survive: SIGSTOP, SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#server?.signal(signal);
    for (let worker = 1; this.workers > 1 && worker <= this.workers; worker += 1) this.#signalWorker(worker, signal);
  }

  /** Kills one of its workers, which it starts again. */
  killWorker(worker: number): void {
    this.#signalWorker(worker, 'SIGKILL');
  }

  #signalWorker(worker: number, signal: NodeJS.Signals): void {
    const served = [
      ...readFileSync(this.logFile, 'utf8').matchAll(/"worker":(\d+),"pid":(\d+),"msg":"a worker serves"/g),
    ];
    const pid = served.findLast(([, of]) => Number(of) === worker)?.[2];
    try {
      if (this.#server !== undefined && pid !== undefined) process.kill(Number(pid), signal);
    } catch (error) {
      // It has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Ends the process: SIGKILL immediately, SIGTERM gracefully. Resolves with whether it ended correctly. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<boolean> {
    this.#isMeantToRun = false;
    const status = await this.#server?.stop(signal);
    return status === undefined || signal === 'SIGKILL' || status === 0 || status === 1;
  }

  /** Resolves when it is ready. */
  async ready(): Promise<void> {
    await retryUntilTrue(() => this.isReady(), { what: `${this.name} is ready`, timeoutMs: readyTimeoutMs });
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
    await this.standbyProxy?.stop();
  }
}
