import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A bare server in a separate process. */
export class BareProcess {
  readonly port: number;
  readonly #child: ChildProcess;

  /** With `files`, a certificate and its key, it serves https. */
  static async start(kind: 'express' | 'http', files: readonly string[] = []): Promise<BareProcess> {
    const child = fork(fileURLToPath(new URL('bare-server.mjs', import.meta.url)), [kind, ...files], {
      execArgv: [],
      env: {},
    });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new BareProcess(child, port);
  }

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** From now on GET of these paths (with their queries) returns these bodies. */
  async answer(bodies: ReadonlyMap<string, string>): Promise<void> {
    const ready = once(this.#child, 'message');
    this.#child.send([...bodies]);
    await ready;
  }

  stop(): void {
    this.#child.kill();
  }
}
