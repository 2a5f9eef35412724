import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('controller-host.ts', import.meta.url));

export interface HostOptions {
  url: string;
  token: string;
  identity: string;
  controllers: number;
}

/** One host in a process of its own. */
export class HostProcess {
  readonly identity: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor({ url, token, identity, controllers }: HostOptions) {
    this.identity = identity;
    this.#child = fork(program, {
      execArgv: ['--conditions=source', '--import', 'tsx', '--expose-gc'],
      env: { URL: url, TOKEN: token, IDENTITY: identity, CONTROLLERS: String(controllers) },
    });
    this.#exited = once(this.#child, 'exit');
  }

  /** The heap after a collection. Bytes. */
  async heap(): Promise<number> {
    const reply = once(this.#child, 'message');
    this.#child.send('heap');
    return (await reply)[0] as number;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves when the process has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    await this.#exited;
  }
}
