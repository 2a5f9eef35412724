import { join } from 'node:path';
import { freePort } from '../../harness/process/free-port.ts';
import { ServerProcess, type ExitStatus } from '../../harness/process/server-process.ts';
import { now } from '../../harness/history/instant.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';

const readyTimeoutMs = 90_000;
const startTimeoutMs = 180_000;
const stopTimeoutMs = 45_000;
const relaunchMs = 300;

/** An option that keeps the whole log of a run. */
export const keepLog = '--svc.storage.log-min-age=6h';

export interface SupervisedServerOptions {
  name: string;
  /** Contains its log and its data folder. */
  folder: string;
  databaseUrl: string;
  token: string;
  /** Further options of the command. */
  args?: readonly string[];
}

/** One built `svc apiserver`, started again when it ends by itself, as systemd does it. */
export class SupervisedServer {
  readonly name: string;
  readonly port: number;
  readonly logFile: string;
  /** Ends after it had been ready. */
  readonly ends: { at: number; status: ExitStatus }[] = [];
  readonly #options: SupervisedServerOptions;
  #server: ServerProcess | undefined;
  #isStopped = false;
  #hasBeenReady = false;

  static async start(options: SupervisedServerOptions): Promise<SupervisedServer> {
    const supervised = new SupervisedServer(options, await freePort());
    try {
      supervised.#launch();
      // A start that fails is repeated.
      await retryUntilTrue(() => supervised.#hasBeenReady, {
        what: `${options.name} is ready; its log is ${supervised.logFile}`,
        timeoutMs: startTimeoutMs,
      });
      return supervised;
    } catch (error) {
      await supervised.stop();
      throw error;
    }
  }

  private constructor(options: SupervisedServerOptions, port: number) {
    this.name = options.name;
    this.port = port;
    this.logFile = join(options.folder, `${options.name}.log`);
    this.#options = options;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#server?.stop();
  }

  /** Ends it at once (SIGKILL), like the loss of its machine. */
  async kill(): Promise<void> {
    this.#isStopped = true;
    await this.#server?.stop('SIGKILL');
  }

  #launch(): void {
    const { name, folder, databaseUrl, token, args = [] } = this.#options;
    const server = new ServerProcess({
      name,
      folder,
      command: 'apiserver',
      args: [
        `--svc.server.port=${this.port}`,
        `--svc.data.dir=${join(folder, name)}`,
        `--svc.database.url=${databaseUrl}`,
        `--svc.security.initial-admin-token=${token}`,
        ...args,
      ],
      nodeArgs: ['--enable-source-maps'],
      stopTimeoutMs,
    });
    this.#server = server;
    this.#hasBeenReady = false;
    void server.exited.then((status) => this.#ended(status));
    void this.#ready().then(
      () => (this.#hasBeenReady = true),
      () => undefined,
    );
  }

  #ended(status: ExitStatus): void {
    this.#server = undefined;
    if (this.#isStopped) return;
    // A start while there is no primary fails, and is repeated.
    if (this.#hasBeenReady || status !== 1) this.ends.push({ at: now(), status });
    setTimeout(() => !this.#isStopped && this.#launch(), relaunchMs);
  }

  async #ready(): Promise<void> {
    const server = this.#server;
    await retryUntilTrue(
      async () => {
        if (this.#server !== server || this.#isStopped) return true;
        const answer = await fetch(`http://127.0.0.1:${this.port}/readyz`, { signal: AbortSignal.timeout(5_000) });
        await answer.arrayBuffer();
        return answer.ok;
      },
      { what: `${this.name} is ready`, timeoutMs: readyTimeoutMs },
    );
    if (this.#server !== server) throw new Error(`${this.name} ended; its log is ${this.logFile}`);
  }
}
