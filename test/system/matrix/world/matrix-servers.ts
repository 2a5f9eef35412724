import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newPersonalToken } from '../../../../pkg/identity/index.ts';
import { isErrorLine, LogReader } from '../../harness/process/server-log.ts';
import { runProgram, ServerProcess, type ProgramOptions } from '../../harness/process/server-process.ts';
import { unlimitedAccess } from '../../harness/process/unlimited-access.ts';
import { writeAudiencesPlugin } from './audiences-plugin.ts';
import type { ServerName } from '../wire/matrix-request.ts';

export interface MatrixServersOptions {
  /** A database that no other process uses. */
  readonly databaseUrl: string;
  /** `built` is the released program; `sources` needs no build and starts slower. */
  readonly program: 'built' | 'sources';
  /** Starts a plugin with endpoints. */
  readonly hasPlugin: boolean;
}

/**
 * `svc serve` and `svc apiserver`, a second replica of the content platform with Basic enabled, in separate processes.
 */
export class MatrixServers {
  readonly adminToken = newPersonalToken();
  readonly adminPassword = randomBytes(12).toString('hex');
  readonly #options: MatrixServersOptions;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #dataDir: string;
  readonly #servers: ServerProcess[] = [];
  readonly #logs: LogReader[] = [];
  #origins: Readonly<Record<ServerName, string>> = { access: '', platform: '', basic: '' };

  static async start(options: MatrixServersOptions): Promise<MatrixServers> {
    const dataDir = await mkdtemp(join(tmpdir(), 'svc-matrix-'));
    await chmod(dataDir, 0o755);
    const servers = new MatrixServers(options, dataDir);
    try {
      if (options.hasPlugin) await writeAudiencesPlugin(join(dataDir, 'plugins'));
      const [serve, replica] = await Promise.all([
        servers.#run('serve', [
          ...unlimitedAccess,
          '--svc.access.port=0',
          '--svc.server.tls.port=0',
          '--svc.access.tls.port=0',
        ]),
        servers.#run('apiserver', ['--svc.security.basic-auth.disabled=false', ...unlimitedAccess]),
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

  private constructor(options: MatrixServersOptions, dataDir: string) {
    this.#options = options;
    this.#dataDir = dataDir;
    this.#environment = {
      PATH: process.env['PATH'],
      SVC_DATABASE_URL: options.databaseUrl,
      SVC_SECURITY_INITIAL_ADMIN_TOKEN: this.adminToken,
      SVC_SECURITY_INITIAL_ADMIN_PASSWORD: this.adminPassword,
      SVC_SECURITY_KEY: randomBytes(32).toString('hex'),
    };
  }

  get origins(): Readonly<Record<ServerName, string>> {
    return this.#origins;
  }

  /** Log lines of level error, and other output, since the last call. */
  takeErrors(): string[] {
    return this.#logs.flatMap((log) => log.takeLines()).filter(isErrorLine);
  }

  /** The output of `svc private-token <verb> --user <name>`. */
  privateToken(verb: 'create' | 'rotate', user: string): Promise<string> {
    const args = [verb, '--user', user, `--svc.data.dir=${this.#dataDir}`];
    return runProgram({ ...this.#program, command: 'private-token', args });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    for (const log of this.#logs) log.close();
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  /** Returns its log entry when it is ready. */
  #run(command: string, options: readonly string[]): Promise<Record<string, unknown>> {
    const args = [...options, '--svc.server.port=0', `--svc.data.dir=${this.#dataDir}`];
    const server = new ServerProcess({ ...this.#program, command, args, name: command });
    this.#servers.push(server);
    this.#logs.push(new LogReader(server.logFile));
    return server.ready();
  }

  get #program(): Pick<ProgramOptions, 'fromSources' | 'folder' | 'env'> {
    return { fromSources: this.#options.program === 'sources', folder: this.#dataDir, env: this.#environment };
  }
}
