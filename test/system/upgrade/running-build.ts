import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 60_000;
const running = new Set<RunningBuild>();

export interface BuildOptions {
  /** Of the build: `dist/cmd/svc/main.js` is in it. */
  readonly build: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Where it runs; its log goes there, too. */
  readonly folder: string;
  /** Of the log file. */
  readonly name: string;
}

/** Does this build know an option? */
export function takes(build: string, option: string): boolean {
  return readFileSync(join(build, 'dist/cmd/svc/options/option-table.js'), 'utf8').includes(`'${option}'`);
}

/** One process of a build. */
export class RunningBuild {
  readonly name: string;
  readonly exited: Promise<number | string>;
  readonly #child: ChildProcess;
  readonly #ready: Promise<Record<string, unknown>>;
  #stderr = '';

  constructor({ build, command, args, folder, name }: BuildOptions) {
    this.name = name;
    const all = [...args, ...unusedPorts(build, command, args)];
    const { PATH, HOME } = process.env;
    this.#child = spawn(
      process.execPath,
      ['--enable-source-maps', join(build, 'dist/cmd/svc/main.js'), command, ...all],
      { cwd: folder, env: { PATH, HOME }, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    running.add(this);
    this.exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        running.delete(this);
        resolve(code ?? signal ?? 'gone');
      });
    });
    const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr += chunk.toString();
      log.write(chunk);
    });
    this.#ready = new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${name} was not ready within ${READY_TIMEOUT_MS / 1000} s`)),
        READY_TIMEOUT_MS,
      );
      void this.exited
        .then((code) => reject(new Error(`${name} ended with ${code}: ${this.#stderr.trim()}`)))
        .finally(() => clearTimeout(timer));
      createInterface({ input: this.#child.stdout! }).on('line', (line) => {
        log.write(`${line}\n`);
        const facts = factsOf(line);
        if (facts?.['msg'] !== 'ready') return;
        clearTimeout(timer);
        resolve(facts);
      });
    });
    // Whoever waits for it hears of it.
    this.#ready.catch(() => {});
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** What it said when it was ready; rejects where it ends before that. */
  ready(): Promise<Record<string, unknown>> {
    return this.#ready;
  }

  /** Resolves with its exit code, or the signal it died of. */
  async end(signal: NodeJS.Signals): Promise<number | string> {
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    const code = await this.exited;
    clearTimeout(late);
    return code;
  }
}

/** Ends whatever is left. */
export async function endAll(): Promise<void> {
  await Promise.all([...running].map((build) => build.end('SIGKILL')));
}

/** A command that ends by itself: what it printed. Rejects where that is not 0. */
export async function runCommand(options: BuildOptions): Promise<string> {
  const build = new RunningBuild(options);
  const code = await build.exited;
  if (code !== 0) throw new Error(`${options.name} ended with ${code}: ${build.stderr.trim()}`);
  return readFile(join(options.folder, `${options.name}.log`), 'utf8');
}

/** Several run at once: what was not given a port takes any. */
function unusedPorts(build: string, command: string, args: readonly string[]): string[] {
  const wanted: Readonly<Record<string, readonly string[]>> = {
    serve: ['svc.server.port', 'svc.access.port', 'svc.server.tls.port', 'svc.access.tls.port'],
    apiserver: ['svc.server.port'],
    'access-server': ['svc.access.port'],
    'controller-manager': ['svc.controllers.port'],
  };
  return (wanted[command] ?? [])
    .filter((option) => takes(build, option) && !args.some((arg) => arg.startsWith(`--${option}=`)))
    .map((option) => `--${option}=0`);
}

function factsOf(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
