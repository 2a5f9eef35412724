import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { retryUntilTrue } from '../retry-until-true.ts';

export interface HaproxyOptions {
  /** True once it forwards requests; an error counts as false. */
  readonly isReady: () => Promise<boolean>;
  /** Default 15 s. */
  readonly startTimeoutMs?: number;
}

/** haproxy in the foreground, with its configuration and log in a folder. */
export class HaproxyProcess {
  readonly #child: ChildProcess;
  #hasEnded = false;

  /** Throws with its log if it ends, is not installed, or is not ready in time. */
  static async start(
    folder: string,
    config: string,
    { isReady, startTimeoutMs = 15_000 }: HaproxyOptions,
  ): Promise<HaproxyProcess> {
    const file = join(folder, 'haproxy.cfg');
    const logFile = join(folder, 'haproxy.log');
    writeFileSync(file, config);
    const log = openSync(logFile, 'a');
    const child = spawn('haproxy', ['-db', '-f', file], {
      env: { PATH: '/usr/sbin:/usr/bin' },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const haproxy = new HaproxyProcess(child);
    try {
      await retryUntilTrue(async () => haproxy.#hasEnded || (await isReady()), {
        what: 'haproxy passes requests on',
        timeoutMs: startTimeoutMs,
      });
      if (haproxy.#hasEnded)
        throw new Error(`haproxy ended, or is not installed: ${readFileSync(logFile, 'utf8').slice(0, 1000)}`);
      return haproxy;
    } catch (error) {
      await haproxy.stop();
      throw error;
    }
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.once('error', () => (this.#hasEnded = true));
    child.once('exit', () => (this.#hasEnded = true));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return !this.#hasEnded;
  }

  async stop(): Promise<void> {
    if (this.#hasEnded) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
