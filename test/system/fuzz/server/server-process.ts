import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../harness/free-port.ts';
import { EmbeddedPostgres } from '../../../../pkg/database/embedded/embedded-postgres.ts';
import { newPersonalToken } from '../../../../pkg/identity/personal-token.ts';
import type { FuzzTarget, Hold } from '../fuzz-target.ts';
import type { OutcomeJudge } from '../oracles/judge-outcome.ts';
import { StateDigest, type StateReader } from '../oracles/state-digest.ts';
import { violation, type Violation } from '../violation.ts';

const program = fileURLToPath(new URL('../../../../dist/cmd/svc/main.js', import.meta.url));
const meter = fileURLToPath(new URL('hold-meter.mjs', import.meta.url));
const startTimeoutMs = 60_000;
/** Of /livez, on a busy machine. */
const livezTimeoutMs = 15_000;
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** What is attacked: its command, how the state behind it is read, and what its answers are held to. */
export interface AttackedService {
  command: 'apiserver' | 'serve';
  /** Option that says where it listens. */
  portOption: 'svc.server.port' | 'svc.access.port';
  options: readonly string[];
  readState: StateReader;
  judge: OutcomeJudge;
}

/**
 * The built program in a process of its own, its event loop and its log under watch, on a PostgreSQL that need not
 * survive.
 */
export class ServerProcess implements FuzzTarget {
  readonly port: number;
  /** Of the first administrator, on the content platform. */
  readonly adminToken = newPersonalToken();
  readonly adminPassword = randomBytes(20).toString('base64url');
  token: string;
  secrets: readonly string[];
  readonly digest: StateDigest;
  readonly #dataDir: string;
  readonly #postgres: EmbeddedPostgres;
  readonly #service: AttackedService;
  #child: ChildProcess | undefined;
  #errors: string[] = [];
  #holds: Hold[] = [];

  static async start(dataParent: string, service: AttackedService): Promise<ServerProcess> {
    const dataDir = await mkdtemp(join(dataParent, 'svc-fuzz-'));
    // PostgreSQL may run as another user than we.
    await chmod(dataDir, 0o755);
    const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };
    const postgres = await EmbeddedPostgres.start({ dataDir, log: silent, settings });
    try {
      const server = new ServerProcess({
        dataDir,
        postgres,
        service,
        port: await freePort(),
        digest: await StateDigest.open(postgres.connection, service.readState),
      });
      await server.restart();
      return server;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  private constructor({
    dataDir,
    postgres,
    service,
    port,
    digest,
  }: {
    dataDir: string;
    postgres: EmbeddedPostgres;
    service: AttackedService;
    port: number;
    digest: StateDigest;
  }) {
    this.#dataDir = dataDir;
    this.#postgres = postgres;
    this.#service = service;
    this.token = this.adminToken;
    this.port = port;
    this.digest = digest;
    this.secrets = [this.adminToken.slice(4, 30), this.adminPassword, dataDir];
  }

  get judge(): OutcomeJudge {
    return this.#service.judge;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** In megabytes. */
  get residentMemory(): number {
    return (
      Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#child!.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
    );
  }

  async call(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${this.token}` };
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  async health(): Promise<Violation | undefined> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      return violation(
        'server gone',
        `the process ended: ${child?.exitCode ?? child?.signalCode}; ${this.#errors.splice(0).join('\n').slice(0, 3000)}`,
      );
    }
    const answer = await fetch(`http://127.0.0.1:${this.port}/livez`, {
      signal: AbortSignal.timeout(livezTimeoutMs),
    }).catch(() => undefined);
    return answer?.ok === true ? undefined : violation('server silent', `/livez: ${answer?.status ?? 'no answer'}`);
  }

  takeErrors(): string[] {
    return this.#errors.splice(0);
  }

  /** After a moment, for the loop that was held to tell. */
  async takeHolds(): Promise<Hold[]> {
    await delay(25);
    return this.#holds.splice(0);
  }

  async restart(): Promise<void> {
    await this.#end('SIGKILL');
    const { command, portOption, options } = this.#service;
    const own = [...options, `--${portOption}=${this.port}`, '--svc.log.level=warn'];
    const child = spawn(process.execPath, ['--import', meter, program, command, ...own], {
      cwd: this.#dataDir,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    createInterface(child.stdout!).on('line', (line) => this.#takeLine(line));
    createInterface(child.stderr!).on('line', (line) => this.#errors.push(line));
    createInterface(child.stdio[3] as Readable).on('line', (line) => {
      const [began = 0, ended = 0, cpu = 0] = line.split(' ').map(Number);
      this.#holds.push({ began, ended, cpu });
    });
    const deadline = Date.now() + startTimeoutMs;
    while (!(await this.#isReady())) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`the server did not start:\n${this.#errors.join('\n')}`);
      await delay(50);
    }
    await this.takeHolds();
  }

  /** What a command prints that an operator gives beside the running server. */
  async command(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
      cwd: this.#dataDir,
      env: this.#environment,
    });
    return stdout.trim();
  }

  get #environment(): Record<string, string> {
    const url = `postgres://svc@${encodeURIComponent(String(this.#postgres.connection.host))}/postgres`;
    return {
      SVC_DATABASE_URL: url,
      SVC_SECURITY_INITIAL_ADMIN_TOKEN: this.adminToken,
      SVC_SECURITY_INITIAL_ADMIN_PASSWORD: this.adminPassword,
    };
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    await this.digest.close();
    await this.#postgres.stop();
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  /** What is logged as an error is one, whatever was answered. */
  #takeLine(line: string): void {
    if (!/"level":"(?:warn|info|debug|trace)"/.test(line)) this.#errors.push(line);
  }

  async #isReady(): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => undefined);
    return answer?.ok === true;
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), startTimeoutMs);
    await ended;
    clearTimeout(late);
  }
}
