import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { newPersonalToken } from '../../../../pkg/identity/index.ts';
import { writeDoorsPlugin } from './doors-plugin.ts';
import type { ServerName } from '../wire/matrix-request.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const startTimeoutMs = 90_000;
const stopTimeoutMs = 60_000;
/** So that a hundred thousand requests of one address are no flood. */
const noThrottle = [
  '--svc.access.throttle.anonymous=1000000000',
  '--svc.access.throttle.user=1000000000',
  '--svc.access.login.ip-limit=1000000',
  '--svc.http.max-wrong-credentials=0',
];

export interface MatrixServersOptions {
  /** Of a database that nobody else is on. */
  readonly databaseUrl: string;
  /** `built` is what users run; `sources` needs no build and starts slower. */
  readonly program: 'built' | 'sources';
  /** With a plugin that has endpoints. */
  readonly hasPlugin: boolean;
}

/**
 * `svc serve`, and beside it `svc apiserver` as a second replica of the content platform, on which Basic is on; in
 * processes of their own.
 */
export class MatrixServers {
  readonly adminToken = newPersonalToken();
  readonly adminPassword = randomBytes(12).toString('hex');
  /** Log lines of level error, and whatever is no log line. */
  readonly errors: string[] = [];
  readonly #command: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  readonly #dataDir: string;
  readonly #children: ChildProcess[] = [];
  #origins: Readonly<Record<ServerName, string>> = { access: '', platform: '', basic: '' };

  static async start(options: MatrixServersOptions): Promise<MatrixServers> {
    const dataDir = await mkdtemp(join(tmpdir(), 'svc-matrix-'));
    await chmod(dataDir, 0o755);
    const servers = new MatrixServers(options, dataDir);
    try {
      if (options.hasPlugin) await writeDoorsPlugin(join(dataDir, 'plugins'));
      const [serve, replica] = await Promise.all([
        servers.#run('serve', [
          ...noThrottle,
          '--svc.access.port=0',
          '--svc.server.tls.port=0',
          '--svc.access.tls.port=0',
        ]),
        servers.#run('apiserver', ['--svc.security.basic-auth.disabled=false', ...noThrottle]),
      ]);
      servers.#origins = {
        access: String(serve['accessUrl']),
        platform: String(serve['url']),
        basic: String(replica['url']),
      };
      return servers;
    } catch (error) {
      await servers.stop();
      throw error;
    }
  }

  private constructor({ databaseUrl, program }: MatrixServersOptions, dataDir: string) {
    this.#dataDir = dataDir;
    this.#command =
      program === 'built'
        ? [join(root, 'dist/cmd/svc/main.js')]
        : ['--conditions=source', '--import', 'tsx', join(root, 'cmd/svc/main.ts')];
    this.#environment = {
      PATH: process.env['PATH'],
      SVC_DATABASE_URL: databaseUrl,
      SVC_SECURITY_INITIAL_ADMIN_TOKEN: this.adminToken,
      SVC_SECURITY_INITIAL_ADMIN_PASSWORD: this.adminPassword,
      SVC_SECURITY_KEY: randomBytes(32).toString('hex'),
    };
  }

  get origins(): Readonly<Record<ServerName, string>> {
    return this.#origins;
  }

  /** What `svc private-token <verb> --user <name>` prints. */
  async privateToken(verb: 'create' | 'rotate', user: string): Promise<string> {
    const child = this.#spawn('private-token', [verb, '--user', user]);
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => lines.push(line));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0 || lines.length !== 1)
      throw new Error(`svc private-token ${verb} --user ${user} ended with ${code}: ${this.errors.join('\n')}`);
    return lines[0]!;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map(end));
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  /** What it says when it is ready. */
  async #run(verb: string, options: readonly string[]): Promise<Record<string, unknown>> {
    const child = this.#spawn(verb, [...options, '--svc.server.port=0']);
    return new Promise((resolve, reject) => {
      const fail = (): void => reject(new Error(`svc ${verb} did not start:\n${this.errors.join('\n')}`));
      const late = setTimeout(fail, startTimeoutMs);
      child.once('exit', fail);
      createInterface(child.stdout).on('line', (line) => {
        if (line.includes('"msg":"ready"')) {
          clearTimeout(late);
          child.off('exit', fail);
          resolve(JSON.parse(line) as Record<string, unknown>);
        } else if (line.includes('"level":"error"')) this.errors.push(line);
      });
    });
  }

  #spawn(verb: string, args: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
    const child = spawn(process.execPath, [...this.#command, verb, ...args, `--svc.data.dir=${this.#dataDir}`], {
      cwd: root,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.push(child);
    createInterface(child.stderr).on('line', (line) => this.errors.push(line));
    return child;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await ended;
  clearTimeout(late);
}
