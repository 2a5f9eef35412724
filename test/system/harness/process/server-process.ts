import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { retryUntilTrue } from '../retry-until-true.ts';

export const repository = fileURLToPath(new URL('../../../..', import.meta.url));
/** Bytes of the log in an error message. */
const shownBytes = 20_000;

export interface ProgramOptions {
  /** Its `dist/cmd/svc/main.js` is the program. Default: this repository. */
  readonly build?: string;
  /** Runs the TypeScript sources of this repository: needs no build, and starts slower. */
  readonly fromSources?: boolean;
  /** `serve`, `apiserver`, `backup`. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Working directory; with `fromSources` the repository is used. */
  readonly folder: string;
  /**
   * Default: empty, so that variables of the shell do not affect the test. A program of this repository has one worker
   * unless it says otherwise.
   */
  readonly env?: NodeJS.ProcessEnv;
}

export interface ServerProcessOptions extends ProgramOptions {
  /** Name of the log file in `folder`, and in messages. Default `server`. */
  readonly name?: string;
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
  /** A module that the process loads first; it communicates with `ask` and `onMessage`. */
  readonly preload?: URL;
  /** File that moves the process into a control group before it starts. */
  readonly groupFile?: string;
  /** Returns 2xx when the server is ready. Default: waits for the log line. */
  readonly readyUrl?: string;
  /** Milliseconds, default 120 s. */
  readonly startTimeoutMs?: number;
  /** Time between SIGTERM and SIGKILL. Milliseconds, default 60 s. */
  readonly stopTimeoutMs?: number;
}

/** The exit code, or the signal that ended it. */
export type ExitStatus = number | NodeJS.Signals;

/** One server of the program in a separate process, with its log in a file. */
export class ServerProcess {
  static readonly #running = new Set<ServerProcess>();
  readonly name: string;
  readonly logFile: string;
  readonly exited: Promise<ExitStatus>;
  readonly #options: ServerProcessOptions;
  readonly #child: ChildProcess;
  /** Length of the log that an earlier process has written. */
  readonly #logStart: number;
  #exitStatus: ExitStatus | undefined;

  /** Resolves when it is ready. If it is late, kills it and throws with its log. */
  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    try {
      await server.ready();
      return server;
    } catch (error) {
      await server.stop('SIGKILL');
      throw error;
    }
  }

  /** Kills every process that still runs. */
  static async killAll(): Promise<void> {
    await Promise.all([...ServerProcess.#running].map((server) => server.stop('SIGKILL')));
  }

  /** Starts the process. */
  constructor(options: ServerProcessOptions) {
    const { folder, name = 'server', env = {}, nodeArgs = [], preload, groupFile } = options;
    this.#options = options;
    this.name = name;
    this.logFile = join(folder, `${name}.log`);
    const log = openSync(this.logFile, 'a');
    this.#logStart = this.log().length;
    const line = [
      process.execPath,
      ...nodeArgs,
      ...(preload === undefined ? [] : ['--import', preload.href]),
      ...programLine(options),
    ];
    const [file, ...args] =
      groupFile === undefined ? line : ['/bin/sh', '-c', 'echo $$ >"$0" && exec "$@"', groupFile, ...line];
    this.#child = spawn(file!, args, {
      cwd: workingDirectory(options),
      // An earlier build may not know the option.
      env: options.build === undefined ? { SVC_SERVER_WORKERS: '1', ...env } : env,
      stdio: ['ignore', log, log, preload === undefined ? 'ignore' : 'ipc'],
    });
    closeSync(log);
    ServerProcess.#running.add(this);
    this.exited = once(this.#child, 'exit').then(([code, signal]) => {
      ServerProcess.#running.delete(this);
      this.#exitStatus = (code ?? signal) as ExitStatus;
      return this.#exitStatus;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#exitStatus === undefined;
  }

  /** Undefined while it runs. */
  get exitStatus(): ExitStatus | undefined {
    return this.#exitStatus;
  }

  /** Its output, and that of earlier processes with the same file. */
  log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  /** Resolves with its log entry when it is ready; rejects with the log if it ends before or is late. */
  async ready(readyUrl = this.#options.readyUrl): Promise<Record<string, unknown>> {
    const { startTimeoutMs: timeoutMs = 120_000 } = this.#options;
    let facts: Record<string, unknown> | undefined;
    await retryUntilTrue(
      async () => {
        if (!this.isRunning) return true;
        if (readyUrl === undefined) facts = readyLine(this.#ownLog());
        else if ((await fetch(readyUrl)).ok) facts = {};
        return facts !== undefined;
      },
      { what: `${this.name} is ready`, timeoutMs, intervalMs: 10 },
    ).catch(() => undefined);
    if (facts !== undefined) return facts;
    const problem = this.isRunning ? `was not ready within ${timeoutMs / 1000} s` : `ended with ${this.#exitStatus}`;
    throw new Error(`${this.name} ${problem}:\n${this.#ownLog().slice(-shownBytes).trim()}`);
  }

  /** The answer of the preloaded module. */
  async ask<Answer>(message: string): Promise<Answer> {
    const answer = once(this.#child, 'message');
    this.#child.send(message);
    return ((await answer) as [Answer])[0];
  }

  /** Messages that the preloaded module sends by itself. */
  onMessage(listener: (message: unknown) => void): void {
    this.#child.on('message', listener);
  }

  #ownLog(): string {
    return this.log().slice(this.#logStart);
  }

  /** False if it has ended. */
  signal(signal: NodeJS.Signals): boolean {
    return this.#child.kill(signal);
  }

  /** Ends it: SIGKILL immediately, SIGTERM gracefully within its timeout. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<ExitStatus> {
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill('SIGKILL'), this.#options.stopTimeoutMs ?? 60_000);
    const status = await this.exited;
    clearTimeout(late);
    return status;
  }
}

/** Runs a command to its end; returns its output. Rejects with its error output on failure. */
export async function runProgram(options: ProgramOptions): Promise<string> {
  const { env = {}, command } = options;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, programLine(options), {
      cwd: workingDirectory(options),
      env,
    });
    return stdout.trim();
  } catch (error) {
    const { code, signal, stderr } = error as { code?: number; signal?: string; stderr?: string };
    throw new Error(`svc ${command} ended with ${signal ?? code}: ${stderr}`, { cause: error });
  }
}

function programLine({ build = repository, fromSources, command, args = [] }: ProgramOptions): string[] {
  const program =
    fromSources === true
      ? ['--conditions=source', '--import', 'tsx', join(repository, 'cmd/svc/main.ts')]
      : [join(build, 'dist/cmd/svc/main.js')];
  return [...program, command, ...args];
}

function workingDirectory({ fromSources, folder }: ProgramOptions): string {
  return fromSources === true ? repository : folder;
}

function readyLine(log: string): Record<string, unknown> | undefined {
  const line = log
    .split('\n')
    .find((each) => each.startsWith('{') && each.includes('"msg":"ready"') && each.endsWith('}'));
  return line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown>);
}
