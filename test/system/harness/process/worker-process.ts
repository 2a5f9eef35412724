import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

type Reply<Result> = { result: Result } | { failure: string };

/**
 * A separate process that runs jobs in sequence, so that the measuring code does not share a process with the measured
 * code.
 */
export class WorkerProcess<Job, Result> {
  readonly #child: ChildProcess;

  /** `file` is a TypeScript file that calls `serveJobs`. */
  constructor(file: URL) {
    this.#child = fork(fileURLToPath(file), { execArgv: ['--import', 'tsx'], env: {} });
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

/** The worker's side: `work` runs the jobs of its WorkerProcess. The process ends with its parent. */
export function serveJobs(work: (job: never) => Promise<unknown>): void {
  process.on('message', (job) => {
    work(job as never).then(
      (result) => process.send?.({ result }),
      (error: Error) => process.send?.({ failure: error.stack ?? error.message }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
