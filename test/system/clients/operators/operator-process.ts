import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

export interface OperatorCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** One instance of an operator in a process of its own. */
export class OperatorProcess {
  static readonly #running = new Set<OperatorProcess>();
  readonly identity: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  /** Its output is added to `logFile`. */
  constructor(identity: string, { file, args, env = {} }: OperatorCommand, logFile: string) {
    this.identity = identity;
    const log = openSync(logFile, 'a');
    this.#child = spawn(file, args, { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', log, log] });
    closeSync(log);
    OperatorProcess.#running.add(this);
    this.#exited = once(this.#child, 'exit').then(() => OperatorProcess.#running.delete(this));
  }

  /** Kills all that still run. */
  static killAll(): void {
    for (const operator of OperatorProcess.#running) operator.#child.kill('SIGKILL');
  }

  /** Resolves when the process has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    await this.#exited;
  }
}
