import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

type Reply<Result> = { result: Result } | { failure: string };

/** A process of its own that does one job after another, so that what measures does not run where it is measured. */
export class Worker<Job, Result> {
  readonly #child: ChildProcess;

  /** `file` lies beside this one. */
  constructor(file: string) {
    this.#child = fork(fileURLToPath(new URL(file, import.meta.url)), { execArgv: ['--import', 'tsx'], env: {} });
  }

  run(job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      const onExit = (): void => reject(new Error('a loader ended in the middle of its job'));
      this.#child.once('exit', onExit);
      this.#child.once('message', (reply: Reply<Result>) => {
        this.#child.off('exit', onExit);
        if ('failure' in reply) reject(new Error(reply.failure));
        else resolve(reply.result);
      });
      this.#child.send(job as object);
    });
  }

  stop(): void {
    this.#child.kill();
  }
}

/**
 * The other end, in the worker's file: `work` takes the jobs that its Worker sends. The process ends with its parent.
 */
export function serveJobs(work: (job: never) => Promise<unknown>): void {
  process.on('message', (job) => {
    work(job as never).then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ failure: error.stack ?? error.message }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
