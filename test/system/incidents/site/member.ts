import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../harness/process/free-port.ts';
import { ServerProcess, type ExitStatus } from '../../harness/process/server-process.ts';

export interface MemberOptions {
  readonly name: string;
  readonly command: 'serve' | 'apiserver' | 'controller-manager';
  /** For its log. */
  readonly folder: string;
  readonly args: readonly string[];
  /** The folder of another build than this repository's. */
  readonly build?: string;
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
  /** The pause between probes. Milliseconds. */
  readonly probeIntervalMs: number;
}

/** One process of svc, which keeps its ports when it is started again, and is probed as a load balancer does. */
export class Member {
  readonly name: string;
  readonly port: number;
  /** Of access management; undefined if it has none. */
  readonly accessPort: number | undefined;
  #options: MemberOptions;
  #process: ServerProcess | undefined;
  readonly #ending = new AbortController();
  readonly #probing: Promise<void>;

  static async create(options: MemberOptions): Promise<Member> {
    return new Member(options, await freePort(), options.command === 'serve' ? await freePort() : undefined);
  }

  private constructor(options: MemberOptions, port: number, accessPort: number | undefined) {
    this.#options = options;
    this.name = options.name;
    this.port = port;
    this.accessPort = accessPort;
    this.#probing = this.#probe();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get accessUrl(): string {
    return `http://127.0.0.1:${this.accessPort}`;
  }

  get pid(): number {
    return this.process.pid;
  }

  get process(): ServerProcess {
    if (this.#process === undefined) throw new Error(`${this.name} was not started`);
    return this.#process;
  }

  /** What Prometheus scrapes. */
  get targets(): string[] {
    return [this.port, this.accessPort].filter((port) => port !== undefined).map((port) => `127.0.0.1:${port}`);
  }

  /** Starts the process, with other options if they are given; `start` also waits until it is ready. */
  launch(changes: Partial<Pick<MemberOptions, 'args' | 'build' | 'nodeArgs'>> = {}): void {
    this.#options = { ...this.#options, ...changes };
    const { name, command, folder, args, build, nodeArgs = [] } = this.#options;
    const ports =
      command === 'controller-manager'
        ? [`--svc.controllers.port=${this.port}`]
        : [
            `--svc.server.port=${this.port}`,
            ...(this.accessPort === undefined
              ? []
              : [`--svc.access.port=${this.accessPort}`, '--svc.server.tls.port=0', '--svc.access.tls.port=0']),
          ];
    this.#process = new ServerProcess({
      name,
      command,
      folder,
      nodeArgs,
      args: [...ports, ...args],
      ...(build === undefined ? {} : { build }),
      readyUrl: `${this.url}/readyz?exclude=writes`,
    });
  }

  async start(changes: Parameters<Member['launch']>[0] = {}): Promise<void> {
    this.launch(changes);
    await this.process.ready();
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<ExitStatus | undefined> {
    return this.#process?.stop(signal);
  }

  /** Ends it for good. */
  async remove(): Promise<void> {
    this.#ending.abort();
    await Promise.all([this.stop('SIGKILL'), this.#probing]);
  }

  async #probe(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await delay(this.#options.probeIntervalMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || this.#process?.isRunning !== true) continue;
      const timely = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
      await fetch(`${this.url}/readyz?exclude=writes`, { signal: timely })
        .then((answer) => answer.text())
        .catch(() => undefined);
    }
  }
}
