import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { TestDatabase } from '../../pkg/testenv/test-database.ts';

const main = fileURLToPath(new URL('main.ts', import.meta.url));
const running = new Set<ChildProcess>();

/** Kills the programs that a test has left running. */
export async function killPrograms(): Promise<void> {
  await Promise.all([...running].map((child) => ended(child, 'SIGKILL')));
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  child.kill(signal);
  return child.exitCode ?? child.signalCode ?? (await once(child, 'exit'))[0];
}

export interface ProgramOptions {
  /** Input and output are a terminal, which `script` of util-linux provides; stdout is the terminal's output. */
  onTerminal?: boolean;
  /** In addition to the variables of every test program. */
  env?: Readonly<Record<string, string>>;
}

/** The program, run from its sources in a separate process. */
export class Program {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  stdout = '';
  stderr = '';
  readonly #wake = new Set<() => void>();

  constructor(args: readonly string[], { onTerminal = false, env = {} }: ProgramOptions = {}) {
    const { PATH } = process.env;
    const node = [process.execPath, '--conditions=source', '--import', 'tsx', main, ...args];
    const [command, ...rest] = onTerminal
      ? ['script', '-qefc', `exec ${node.map((word) => `'${word}'`).join(' ')}`, '/dev/null']
      : node;
    this.child = spawn(command!, rest, {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      // As on any machine, whatever its cores.
      env: {
        PATH,
        SVC_SERVER_WORKERS: '1',
        SVC_ACCESS_PORT: '0',
        SVC_SERVER_TLS_PORT: '0',
        SVC_ACCESS_TLS_PORT: '0',
        ...env,
      },
      stdio: [onTerminal ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    running.add(this.child);
    this.child.stdout!.on('data', (chunk: Buffer) => this.#heard(() => (this.stdout += chunk.toString())));
    this.child.stderr!.on('data', (chunk: Buffer) => this.#heard(() => (this.stderr += chunk.toString())));
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code) => {
        running.delete(this.child);
        this.#heard(() => resolve(code));
      });
    });
  }

  /** The first log line with this message; rejects if the program ends without it. */
  line(message: string): Promise<Record<string, unknown>> {
    return this.until(() => this.lines().find(({ msg }) => msg === message));
  }

  /** Resolves with the result of `find` in its output; rejects if the program ends without it. */
  async until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.child.exitCode !== null)
        throw new Error(`ended with ${this.child.exitCode}: ${this.stdout} ${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake.add(resolve);
      });
    }
  }

  lines(): Record<string, unknown>[] {
    const whole = this.stdout.slice(0, this.stdout.lastIndexOf('\n') + 1).split('\n');
    return whole.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  #heard(note: () => void): void {
    note();
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }
}

export interface Served {
  program: Program;
  url: string;
  accessUrl: string;
  /** The administrator's token. */
  token: string;
}

/** `svc serve` on free ports; resolves when it is ready. */
export async function startServe(
  dataDir: string,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<Served> {
  const program = new Program(['serve', '--svc.server.port=0', `--svc.data.dir=${dataDir}`, ...args], options);
  const { url, accessUrl, tokenFile } = await program.line('ready');
  return {
    program,
    url: String(url),
    accessUrl: String(accessUrl),
    token: (await readFile(String(tokenFile), 'utf8')).trim(),
  };
}

export function databaseUrlOf({ connection, name }: Pick<TestDatabase, 'connection' | 'name'>): string {
  const { connectionString, host, port, user } = connection;
  return connectionString ?? `postgres://${user}@${encodeURIComponent(String(host))}:${port}/${name}`;
}
