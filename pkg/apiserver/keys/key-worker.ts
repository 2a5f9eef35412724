import type { ComputedResult } from '#pkg/apimachinery/index';
import { StorageError, type KeyCall, type KeyEvaluator, type KeyScript } from '#pkg/storage/index';
import { KeyHangs } from './key-hangs.ts';
import { KeyProcessQueue } from './key-process-queue.ts';
import type { KeyLimits, KeyProblem } from './key-messages.ts';
import { KeyProcessEnded, type KeyProcessOptions } from './key-process.ts';

/** `hangMs` is 1500 by default. */
export interface KeyWorkerOptions extends Partial<KeyLimits & KeyProcessOptions> {}

/** Objects in one message. */
const maxObjects = 256;
const maxLength = 1_000_000;
/** Objects that may wait at a time. */
const maxWaiting = 20_000;

/** An object that waits for its keys. */
interface Job {
  object: string;
  done(results: ComputedResult[]): void;
  failed(error: unknown): void;
}

/** The objects that wait for the functions of one script. */
interface ScriptQueue {
  script: KeyScript;
  calls: readonly KeyCall[];
  jobs: Job[];
}

/**
 * Runs the functions that compute keys in a separate process, which it starts when it first needs it. Objects that come
 * while the process is busy go to it in one message; scripts take turns. If the process hangs or runs out of memory, it
 * is killed and started again. The objects it was working on are then tried one by one in a second process, so that
 * only the object at fault fails; new scripts are tried there, too. If the process ended for another reason, no object
 * fails.
 */
export class KeyWorker implements KeyEvaluator {
  readonly #limits: KeyLimits;
  readonly #queues = new Map<string, ScriptQueue>();
  readonly #hangs = new KeyHangs();
  readonly #main: KeyProcessQueue;
  readonly #trials: KeyProcessQueue;
  #working: Promise<void> | undefined;
  #waiting = 0;
  #isStopped = false;

  constructor({ objectMs = 50, batchMs = 500, hangMs = 1500, execPath }: KeyWorkerOptions = {}) {
    this.#limits = { objectMs, batchMs };
    this.#main = new KeyProcessQueue({ hangMs, execPath });
    this.#trials = new KeyProcessQueue({ hangMs, execPath });
  }

  async evaluate(
    script: KeyScript,
    calls: readonly KeyCall[],
    objects: readonly string[],
  ): Promise<ComputedResult[][]> {
    if (this.#isStopped) throw newStopped();
    if (this.#waiting + objects.length > maxWaiting)
      throw new StorageError('Overloaded', 'too many objects wait for their keys: try again later');
    const line = this.#queueOf(script, calls);
    this.#waiting += objects.length;
    try {
      return await Promise.all(
        objects.map(
          (object) =>
            new Promise<ComputedResult[]>((done, failed) => line.jobs.push({ object, done, failed }) && this.#begin()),
        ),
      );
    } finally {
      this.#waiting -= objects.length;
    }
  }

  /** Why a definition cannot have this script with these functions; undefined if it can. */
  async check(text: string, functions: readonly string[]): Promise<KeyProblem[]> {
    try {
      return await this.#trials.turnAlone((process) => process.check(text, functions));
    } catch (error) {
      if (!(error instanceof KeyProcessEnded)) throw error;
      if (this.#isStopped) throw newStopped();
      if (error.reason === 'other') throw newEnded(error);
      return [{ message: `the process that tried it ${error.message}` }];
    }
  }

  /** Fails all waiting objects. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#main.stop(), this.#trials.stop()]);
    await this.#working;
  }

  #queueOf(script: KeyScript, calls: readonly KeyCall[]): ScriptQueue {
    const key = `${script.hash} ${JSON.stringify(calls)}`;
    const line = this.#queues.get(key) ?? { script, calls, jobs: [] };
    this.#queues.set(key, line);
    return line;
  }

  #begin(): void {
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    // Objects of the same iteration of the event loop go in one message.
    await new Promise((resolve) => setImmediate(resolve));
    for (let next = this.#queues.entries().next(); next.done !== true; next = this.#queues.entries().next()) {
      const [key, line] = next.value;
      // To the end of the queue, so that no script has the process for itself.
      this.#queues.delete(key);
      const jobs = takeJobs(line);
      if (line.jobs.length > 0) this.#queues.set(key, line);
      const left = await this.#run(line, jobs);
      if (left.length === 0) continue;
      const again = this.#queueOf(line.script, line.calls);
      again.jobs.unshift(...left);
    }
    // In the same iteration as the last check: objects that come later start another run.
    this.#working = undefined;
  }

  /** Returns the objects to retry. */
  async #run({ script, calls }: ScriptQueue, jobs: readonly Job[]): Promise<readonly Job[]> {
    try {
      this.#hangs.check(script.hash);
      const rows = await this.#main.turn((process) => process.evaluate(script, calls, objectsOf(jobs), this.#limits));
      for (const [i, row] of rows.entries()) jobs[i]!.done(row);
      return jobs.slice(rows.length);
    } catch (error) {
      if (this.#isStopped || !(error instanceof KeyProcessEnded)) {
        for (const job of jobs) job.failed(this.#isStopped ? newStopped() : error);
        return [];
      }
      const hasHung = error.reason === 'hang';
      if (hasHung) this.#hangs.add(script.hash);
      for (const job of jobs) void this.#tryAlone({ script, calls, job, hasHung });
      return [];
    }
  }

  /** Never rejects. */
  async #tryAlone({
    script,
    calls,
    job,
    hasHung,
  }: {
    script: KeyScript;
    calls: readonly KeyCall[];
    job: Job;
    hasHung: boolean;
  }): Promise<void> {
    try {
      const rows = await this.#trials.turnAlone(async (process) => {
        this.#hangs.check(script.hash);
        return process.evaluate(script, calls, objectsOf([job]), this.#limits);
      }, hasHung);
      job.done(rows[0]!);
    } catch (error) {
      if (this.#isStopped || !(error instanceof KeyProcessEnded))
        return job.failed(this.#isStopped ? newStopped() : error);
      if (error.reason === 'hang') this.#hangs.add(script.hash);
      if (error.reason === 'other') job.failed(newEnded(error));
      else job.done(calls.map(() => ({ fault: `the process that runs its functions ${error.message}` })));
    }
  }
}

function objectsOf(jobs: readonly Job[]): string[] {
  return jobs.map(({ object }) => object);
}

function takeJobs(line: ScriptQueue): Job[] {
  let length = 0;
  let count = 0;
  while (
    count < line.jobs.length &&
    count < maxObjects &&
    (count === 0 || length + line.jobs[count]!.object.length <= maxLength)
  ) {
    length += line.jobs[count]!.object.length;
    count += 1;
  }
  return line.jobs.splice(0, count);
}

function newEnded(cause: KeyProcessEnded): StorageError {
  return new StorageError('KeysUnavailable', 'the process that computes keys ended: try again', { cause });
}

function newStopped(): StorageError {
  return new StorageError('KeysUnavailable', 'the server is stopping');
}
