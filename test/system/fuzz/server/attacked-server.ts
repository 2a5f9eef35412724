import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { PostgresProcess, unsafeSettings } from '../../harness/process/postgres-process.ts';
import { freePort } from '../../harness/process/free-port.ts';
import { isErrorLine, LogReader } from '../../harness/process/server-log.ts';
import { readMemory } from '../../harness/process/process-usage.ts';
import { runProgram, ServerProcess } from '../../harness/process/server-process.ts';
import { newPersonalToken } from '../../../../pkg/identity/personal-token.ts';
import type { FuzzTarget, Hold } from '../fuzz-target.ts';
import type { OutcomeJudge } from '../oracles/judge-outcome.ts';
import { StateDigest, type StateReader } from '../oracles/state-digest.ts';
import { violation, type Violation } from '../violation.ts';

const startTimeoutMs = 60_000;
/** Timeout of /livez on a slow machine. Milliseconds. */
const livezTimeoutMs = 15_000;

/** An attacked service: its command, how to read its state, and the contract for its responses. */
export interface AttackedService {
  command: 'apiserver' | 'serve';
  /** The option with its port. */
  portOption: 'svc.server.port' | 'svc.access.port';
  options: readonly string[];
  readState: StateReader;
  judge: OutcomeJudge;
}

/** The built program under attack, with its event loop and log monitored, on a non-durable PostgreSQL. */
export class AttackedServer implements FuzzTarget {
  readonly port: number;
  /** The first administrator's token for the content platform. */
  readonly adminToken = newPersonalToken();
  readonly adminPassword = randomBytes(20).toString('base64url');
  token: string;
  secrets: readonly string[];
  readonly digest: StateDigest;
  readonly #postgres: PostgresProcess;
  readonly #service: AttackedService;
  #server: ServerProcess | undefined;
  #log: LogReader | undefined;
  #holds: Hold[] = [];

  static async start(dataParent: string, service: AttackedService): Promise<AttackedServer> {
    const postgres = await PostgresProcess.start({ parent: dataParent, settings: unsafeSettings });
    try {
      const digest = await StateDigest.open(postgres.connection, service.readState);
      const server = new AttackedServer({ postgres, service, port: await freePort(), digest });
      await server.restart();
      return server;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  private constructor({
    postgres,
    service,
    port,
    digest,
  }: {
    postgres: PostgresProcess;
    service: AttackedService;
    port: number;
    digest: StateDigest;
  }) {
    this.#postgres = postgres;
    this.#service = service;
    this.token = this.adminToken;
    this.port = port;
    this.digest = digest;
    this.secrets = [this.adminToken.slice(4, 30), this.adminPassword, postgres.folder];
  }

  get judge(): OutcomeJudge {
    return this.#service.judge;
  }

  /** Megabytes. */
  get residentMemory(): number {
    return readMemory({ server: this.#server!.pid }).server;
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
    const status = this.#server?.exitStatus;
    if (status !== undefined)
      return violation('server gone', `the process ended: ${status}; ${this.takeErrors().join('\n').slice(0, 3000)}`);
    const answer = await fetch(`http://127.0.0.1:${this.port}/livez`, {
      signal: AbortSignal.timeout(livezTimeoutMs),
    }).catch(() => undefined);
    return answer?.ok === true ? undefined : violation('server silent', `/livez: ${answer?.status ?? 'no answer'}`);
  }

  /** Any log line of level error is a violation, whatever the response. */
  takeErrors(): string[] {
    return (this.#log?.takeLines() ?? []).filter(isErrorLine);
  }

  /** Waits briefly, so that a blocked loop can report. */
  async takeHolds(): Promise<Hold[]> {
    await delay(25);
    return this.#holds.splice(0);
  }

  async restart(): Promise<void> {
    await this.#server?.stop('SIGKILL');
    const { command, portOption, options } = this.#service;
    const server = new ServerProcess({
      command,
      args: [...options, `--${portOption}=${this.port}`, '--svc.log.level=warn'],
      folder: this.#postgres.folder,
      env: this.#environment,
      preload: new URL('hold-meter.mjs', import.meta.url),
      readyUrl: `http://127.0.0.1:${this.port}/readyz`,
      startTimeoutMs,
    });
    this.#server = server;
    this.#log ??= new LogReader(server.logFile);
    server.onMessage((hold) => this.#holds.push(hold as Hold));
    await server.ready();
    await this.takeHolds();
  }

  /** The output of an operator command while the server runs. */
  command(command: string, ...args: string[]): Promise<string> {
    return runProgram({ command, args, folder: this.#postgres.folder, env: this.#environment });
  }

  get #environment(): Record<string, string> {
    return {
      SVC_DATABASE_URL: `postgres://svc@${encodeURIComponent(String(this.#postgres.connection.host))}/postgres`,
      SVC_SECURITY_INITIAL_ADMIN_TOKEN: this.adminToken,
      SVC_SECURITY_INITIAL_ADMIN_PASSWORD: this.adminPassword,
    };
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#log?.close();
    await this.digest.close();
    await this.#postgres.stop();
  }
}
