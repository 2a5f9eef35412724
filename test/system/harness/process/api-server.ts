import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { retryUntilTrue } from '../retry-until-true.ts';
import { runProgram, ServerProcess, type ServerProcessOptions } from './server-process.ts';

const servedTimeoutMs = 120_000;

export interface ApiServerOptions extends Pick<ServerProcessOptions, 'args' | 'preload' | 'nodeArgs' | 'groupFile'> {
  /** Default `apiserver`; `serve` also runs the controllers and access management. */
  readonly command?: 'apiserver' | 'serve';
  /** A new data folder is created in it. */
  readonly parent?: string;
  /** Instead: a data folder, which may not exist yet. */
  readonly dataDir?: string;
  /** Default: free ports. */
  readonly ports?: Pick<ApiServer, 'port' | 'accessPort' | 'tlsPort'>;
  /** Default: `serve` starts its embedded PostgreSQL. */
  readonly databaseUrl?: string;
  /** Called when the process has started, before it is ready. */
  readonly beforeReady?: (process: ServerProcess, url: string) => Promise<unknown>;
}

export interface ApiServerRequest {
  method?: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
}

/** The built server with default options except for the given ones, on free ports and with its own token. */
export class ApiServer {
  readonly process: ServerProcess;
  readonly port: number;
  /** The port of access management, if the command serves it. */
  readonly accessPort: number;
  /** The platform's https port for the command `serve`; the certificate is in `tls` in the data folder. */
  readonly tlsPort: number;
  readonly dataDir: string;
  readonly token: string;
  /** Duration of the start. */
  readonly startMs: number;
  readonly #databaseUrl: string | undefined;

  static async start({
    command = 'apiserver',
    parent = '/tmp',
    dataDir: given,
    ports,
    databaseUrl,
    args = [],
    beforeReady,
    ...rest
  }: ApiServerOptions): Promise<ApiServer> {
    const dataDir = given ?? (await mkdtemp(join(parent, 'server-')));
    await mkdir(dataDir, { recursive: true });
    const { port, accessPort, tlsPort } = ports ?? {
      port: await freePort(),
      accessPort: await freePort(),
      tlsPort: await freePort(),
    };
    const url = `http://127.0.0.1:${port}`;
    const began = performance.now();
    const process = new ServerProcess({
      ...rest,
      command,
      args: [
        ...(command === 'serve' ? [`--svc.server.tls.port=${tlsPort}`, '--svc.access.tls.port=0'] : []),
        `--svc.server.port=${port}`,
        `--svc.access.port=${accessPort}`,
        `--svc.data.dir=${dataDir}`,
        ...(databaseUrl === undefined ? [] : [`--svc.database.url=${databaseUrl}`]),
        ...args,
      ],
      folder: dataDir,
      readyUrl: `${url}/readyz`,
    });
    try {
      await beforeReady?.(process, url);
      await process.ready();
      const startMs = performance.now() - began;
      const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
      return new ApiServer({ process, port, accessPort, tlsPort, dataDir, startMs, token, databaseUrl });
    } catch (error) {
      await process.stop('SIGKILL');
      throw error;
    }
  }

  private constructor(
    parts: Pick<ApiServer, 'process' | 'port' | 'accessPort' | 'tlsPort' | 'dataDir' | 'startMs' | 'token'> & {
      databaseUrl: string | undefined;
    },
  ) {
    this.process = parts.process;
    this.port = parts.port;
    this.accessPort = parts.accessPort;
    this.tlsPort = parts.tlsPort;
    this.dataDir = parts.dataDir;
    this.startMs = parts.startMs;
    this.token = parts.token;
    this.#databaseUrl = parts.databaseUrl;
  }

  get pid(): number {
    return this.process.pid;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The administrator's Authorization header line. */
  get authorization(): string {
    return `Authorization: Bearer ${this.token}`;
  }

  /** The first administrator's password, for the command `serve`. */
  async adminPassword(): Promise<string> {
    return (await readFile(join(this.dataDir, 'initial-admin-password'), 'utf8')).trim();
  }

  /** Creates a user's private token with the operator command. */
  createPrivateToken(username: string): Promise<string> {
    const args = ['create', `--user=${username}`, `--svc.data.dir=${this.dataDir}`];
    if (this.#databaseUrl !== undefined) args.push(`--svc.database.url=${this.#databaseUrl}`);
    return runProgram({ command: 'private-token', args, folder: this.dataDir });
  }

  /** As the administrator. */
  async request(path: string, { headers, ...init }: ApiServerRequest = {}): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.url}${path}`, {
      ...init,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${this.token}`, ...headers },
    });
    return { status: response.status, text: await response.text() };
  }

  /** Returns the response text; throws unless it is a success. */
  async fetch(path: string, init: ApiServerRequest = {}): Promise<string> {
    const { status, text } = await this.request(path, init);
    if (status >= 300) throw new Error(`${init.method ?? 'GET'} ${path}: ${status} ${text.slice(0, 500)}`);
    return text;
  }

  async untilServed(path: string): Promise<void> {
    await retryUntilTrue(() => this.fetch(path).then(() => true), {
      what: `${path} is served`,
      timeoutMs: servedTimeoutMs,
      intervalMs: 5,
    });
  }

  async stop(): Promise<void> {
    await this.process.stop();
  }
}
