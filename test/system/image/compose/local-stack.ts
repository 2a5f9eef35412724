import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HaproxyProcess } from '../../harness/process/haproxy-process.ts';
import { ServerProcess, type ExitStatus } from '../../harness/process/server-process.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { LoopbackAddresses } from '../../harness/process/loopback.ts';
import { deployFolder, programsOf, readComposeFile, type ComposeFile, type Service } from './compose-file.ts';

const waitMs = 60_000;

export interface Replica {
  readonly service: string;
  readonly address: string;
  readonly process: ServerProcess;
}

export interface StackOptions {
  /** Replaces the service postgres. */
  readonly databaseUrl: string;
  /** Created by make-secrets.sh. */
  readonly secrets: string;
}

/**
 * Runs deploy/compose.yaml as processes of this machine: the same commands, variables, secrets, replicas and health
 * checks, with an address for each replica, and haproxy with deploy/haproxy.cfg in front. Only replaces what an engine
 * would do: service names by addresses, and mount paths by folders.
 */
export class LocalStack {
  /** The proxy's address. */
  readonly address: string;
  readonly replicas: Replica[] = [];
  readonly #folder: string;
  readonly #loopback: LoopbackAddresses;
  readonly #file: ComposeFile;
  readonly #options: StackOptions;
  #proxy: HaproxyProcess | undefined;

  /** Resolves when every health check passes, also through haproxy. */
  static async start(options: StackOptions): Promise<LocalStack> {
    const stack = new LocalStack(await mkdtemp(join(tmpdir(), 'svc-compose-')), await readComposeFile(), options);
    try {
      await stack.#start();
      return stack;
    } catch (error) {
      const logs = stack.replicas.map((each) => `${each.service}: ${each.process.log().slice(-1500)}`).join('\n');
      await stack.stop();
      throw new Error(`${(error as Error).message}\n${logs}`, { cause: error });
    }
  }

  private constructor(folder: string, file: ComposeFile, options: StackOptions) {
    this.#folder = folder;
    this.#loopback = new LoopbackAddresses();
    this.#file = file;
    this.#options = options;
    this.address = this.#loopback.take();
  }

  async #start(): Promise<void> {
    await mkdir(join(this.#folder, 'plugins'));
    const programs = programsOf(this.#file);
    // Addresses first, because the proxy's file contains all of them.
    const planned = programs.flatMap(([service, definition]) =>
      Array.from({ length: definition.deploy?.replicas ?? 1 }, () => ({
        service,
        definition,
        address: this.#loopback.take(),
      })),
    );
    await this.#startProxy(planned);
    // In the file's order, which satisfies depends_on.
    for (const [service] of programs) {
      const replicas = await Promise.all(
        planned.filter((plan) => plan.service === service).map((plan) => this.#run(plan)),
      );
      await Promise.all(replicas.map((replica) => this.#healthy(replica)));
    }
    for (const port of [8090, 8091])
      await retryUntilTrue(async () => (await fetch(`http://${this.address}:${port}/readyz`)).ok, {
        what: `haproxy leads to port ${port}`,
        timeoutMs: waitMs,
      });
  }

  async #startProxy(planned: readonly { service: string; address: string }[]): Promise<void> {
    const text = (await readFile(join(deployFolder, this.#file.configs['haproxy']!.file), 'utf8'))
      .replaceAll(/^ {2}bind :/gm, `  bind ${this.address}:`)
      // Docker's DNS does not exist here.
      .replaceAll(/^resolvers docker\n(?: {2}.*\n)+/gm, '')
      .replace(' resolvers docker init-addr none', '')
      .replaceAll(/^ {2}server-template (\S+) \d+ \S+:(\d+)$/gm, (_line, service: string, port: string) =>
        planned
          .filter((plan) => plan.service === service)
          .map(({ address }, index) => `  server ${service}${index} ${address}:${port}`)
          .join('\n'),
      );
    this.#proxy = await HaproxyProcess.start(this.#folder, text, {
      isReady: async () => (await fetch(`http://${this.address}:8090/`)).status === 503,
    });
  }

  async #run({
    service,
    definition,
    address,
  }: {
    service: string;
    definition: Service;
    address: string;
  }): Promise<Replica> {
    const home = await mkdtemp(join(this.#folder, `${service}-`));
    await mkdir(join(home, 'config'));
    for (const secret of definition.secrets ?? []) {
      if (typeof secret !== 'string')
        await writeFile(join(home, secret.target.replace('/app/', '')), await this.#secret(secret.source), {
          mode: 0o444,
        });
    }
    const environment = Object.fromEntries(
      Object.entries(definition.environment ?? {}).map(([name, value]) => [name, this.#here(value)]),
    );
    // Variables that the image sets.
    const image = { SVC_SERVER_HOST: address, SVC_ACCESS_HOST: address, SVC_DATA_DIR: join(home, 'data') };
    const [command = '', ...args] = definition.command!;
    const server = new ServerProcess({
      command,
      args,
      folder: home,
      nodeArgs: ['--enable-source-maps'],
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...image, ...environment },
    });
    const replica: Replica = { service, address, process: server };
    this.replicas.push(replica);
    return replica;
  }

  async #secret(name: string): Promise<string> {
    const text = await readFile(
      join(this.#options.secrets, this.#file.secrets[name]!.file.replace('./secrets/', '')),
      'utf8',
    );
    return text.replace(/^svc\.database\.url: .*$/m, `svc.database.url: ${this.#options.databaseUrl}`);
  }

  /** The local form of a value. */
  #here(value: string): string {
    return value
      .replace('//proxy:', `//${this.address}:`)
      .replace('/run/secrets/', `${this.#options.secrets}/`)
      .replace(/^\/plugins$/, join(this.#folder, 'plugins'))
      .replace('172.30.90.0/24', '127.0.0.0/8');
  }

  async #healthy(replica: Replica): Promise<void> {
    const [, command, ...args] = this.#file.services[replica.service]!.healthcheck!.test.map((word) =>
      word.replace('127.0.0.1', replica.address),
    );
    await retryUntilTrue(
      async () => {
        if (!replica.process.isRunning) throw new Error('the process has ended');
        const [code] = (await once(spawn(command!, args, { stdio: 'ignore' }), 'close')) as [number | null];
        return code === 0;
      },
      { what: `${replica.service} is healthy`, timeoutMs: waitMs },
    );
  }

  /** Stops it like an engine: SIGTERM, then waits. Returns the exit code. */
  stopReplica({ process: server }: Replica): Promise<ExitStatus> {
    return server.stop();
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.process.stop('SIGKILL')));
    await this.#proxy?.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
