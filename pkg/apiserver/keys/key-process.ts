import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ComputedResult } from '#pkg/apimachinery/index';
import { StorageError, type KeyCall, type KeyScript } from '#pkg/storage/index';
import { readAnswerId, readProblems, readRows } from './key-answer.ts';
import type { KeyLimits, KeyProblem, KeyRequest } from './key-messages.ts';

const isSource = import.meta.url.endsWith('.ts');
const file = fileURLToPath(new URL(isSource ? 'key-process-main.ts' : 'key-process-main.js', import.meta.url));
/**
 * Memory limits in megabytes; a script that needs more ends the process. A script that escapes its scope has no access
 * to code from strings, files or programs.
 */
const execArgv = [
  '--max-old-space-size=128',
  '--max-semi-space-size=8',
  '--disallow-code-generation-from-strings',
  // Only tests run the sources, with their compiler.
  ...(isSource
    ? ['--conditions=source', '--import', 'tsx']
    : [permission(), `--allow-fs-read=${dirname(file)}/*`, '--allow-worker']),
];
/** Time for a process to start. Milliseconds. */
const startTimeoutMs = 30_000;
/** Time for an answer, which a working process sends in a few seconds at most. Milliseconds. */
const answerTimeoutMs = 20_000;

type KeyRequestBody = KeyRequest extends infer R ? (R extends KeyRequest ? Omit<R, 'id'> : never) : never;

export interface KeyProcessOptions {
  /** A function that no timeout can interrupt ends the process after this CPU time beyond its limit. Milliseconds. */
  hangMs: number;
  /** Path of Node; default: that of this process. */
  execPath?: string | undefined;
}

/** Only a function can cause the first two. */
export type KeyProcessEnd = 'memory' | 'hang' | 'other';

/** The process ended, or was killed because it did not answer as expected. */
export class KeyProcessEnded extends Error {
  readonly reason: KeyProcessEnd;

  constructor(reason: KeyProcessEnd, message: string) {
    super(message);
    this.name = 'KeyProcessEnded';
    this.reason = reason;
  }
}

/**
 * One process, for one request at a time. A thread would not do: if a single step of a function needs more memory than
 * a thread may have, V8 ends the whole process. Its environment is empty except for a fixed time zone. It does not keep
 * the server alive while it is idle.
 */
export class KeyProcess {
  /** Rejects with StorageError KeysUnavailable. */
  readonly begun: Promise<void>;
  readonly #child: ChildProcess;
  readonly #over: Promise<void>;
  /** Scripts that were sent to it. */
  readonly #given = new Set<string>();
  #waiting: { id: number; done: (answer: unknown) => void; failed: (error: Error) => void } | undefined;
  #end: KeyProcessEnded | undefined;
  #requests = 0;

  /** @throws StorageError KeysUnavailable if the system cannot start it */
  constructor({ hangMs, execPath = process.execPath }: KeyProcessOptions) {
    const child = forkProcess(execPath, hangMs);
    this.#child = child;
    this.#over = new Promise((done) => {
      child.once('exit', (_code, signal) => this.#ended(endBy(signal), done));
      child.on('error', (error) => {
        this.#ended(new KeyProcessEnded('other', `cannot be spoken to: ${error.message}`), done);
        this.#kill();
      });
    });
    this.begun = this.#begin();
    this.begun.catch(() => undefined);
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether it has had any request. */
  get isUsed(): boolean {
    return this.#requests > 0;
  }

  /** @throws KeyProcessEnded, StorageError KeysUnavailable if it cannot be started */
  async check(text: string, functions: readonly string[]): Promise<KeyProblem[]> {
    return readProblems(await this.#ask({ kind: 'check', text, functions })) ?? this.#giveUp();
  }

  /** A row for each of the first objects, at least one. Throws as `check` does. */
  async evaluate(
    { hash, text }: KeyScript,
    calls: readonly KeyCall[],
    objects: readonly string[],
    limits: KeyLimits,
  ): Promise<ComputedResult[][]> {
    const request = { kind: 'evaluate' as const, hash, calls, objects, limits };
    const ask = async (isGiven: boolean) =>
      readRows(await this.#ask(isGiven ? request : { ...request, text }), objects.length, calls.length);
    const isGiven = this.#given.has(hash);
    this.#given.add(hash);
    // If it has dropped the script for others, the script is sent again.
    return (isGiven ? await ask(true) : undefined) ?? (await ask(false)) ?? this.#giveUp();
  }

  /** Never rejects. */
  async stop(): Promise<void> {
    this.#keepAlive(true);
    this.#kill();
    await this.#over;
  }

  async #ask(request: KeyRequestBody): Promise<unknown> {
    this.#keepAlive(true);
    let timer: NodeJS.Timeout | undefined;
    try {
      await this.begun;
      if (this.#end !== undefined) throw this.#end;
      this.#requests += 1;
      const id = this.#requests;
      return await new Promise<unknown>((done, failed) => {
        this.#waiting = { id, done, failed };
        timer = setTimeout(() => this.#abandon(`did not answer for ${answerTimeoutMs} ms`), answerTimeoutMs);
        this.#child.send({ ...request, id });
      });
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
      this.#keepAlive(false);
    }
  }

  async #begin(): Promise<void> {
    const timer = setTimeout(() => this.#kill(), startTimeoutMs);
    await Promise.race([once(this.#child, 'message'), this.#over]);
    clearTimeout(timer);
    if (this.#end !== undefined) throw newUnbegun(this.#end);
    this.#child.on('message', (answer: unknown) => {
      if (this.#waiting !== undefined && readAnswerId(answer) === this.#waiting.id) this.#waiting.done(answer);
    });
  }

  #giveUp(): never {
    throw this.#abandon('gave an answer that cannot be read');
  }

  #abandon(message: string): KeyProcessEnded {
    this.#ended(new KeyProcessEnded('other', message));
    this.#kill();
    return this.#end!;
  }

  #kill(): void {
    this.#child.kill('SIGKILL');
  }

  #keepAlive(isBusy: boolean): void {
    if (isBusy) {
      this.#child.ref();
      this.#child.channel?.ref();
    } else {
      this.#child.unref();
      this.#child.channel?.unref();
    }
  }

  #ended(end: KeyProcessEnded, done?: () => void): void {
    this.#end ??= end;
    this.#waiting?.failed(this.#end);
    done?.();
  }
}

function forkProcess(execPath: string, hangMs: number): ChildProcess {
  try {
    return fork(file, [String(hangMs)], {
      execPath,
      execArgv,
      env: { TZ: 'UTC' },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
  } catch (error) {
    throw newUnbegun(error);
  }
}

function newUnbegun(cause: unknown): StorageError {
  return new StorageError('KeysUnavailable', 'the process that computes keys could not be begun', { cause });
}

/** The reason by signal: V8 ends the process this way if it is out of memory, `KeyWatchdog` if a function hangs. */
function endBy(signal: NodeJS.Signals | null): KeyProcessEnded {
  if (signal === 'SIGABRT' || signal === 'SIGTRAP') return new KeyProcessEnded('memory', 'ran out of memory');
  if (signal === 'SIGXCPU') return new KeyProcessEnded('hang', 'could not be interrupted');
  return new KeyProcessEnded('other', `ended (${signal ?? 'by itself'})`);
}

/** The name of the option differs before and after Node 23.5. */
function permission(): string {
  return process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
}
