import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceClient } from '../service-client.ts';
import type { ServerProcess } from '../../harness/process/server-process.ts';
import { startBuild } from '../start-build.ts';
import type { Services } from '../fixtures/people.ts';

/** Configuration that all processes on the database share. */
export interface Shared {
  readonly databaseUrl: string;
  readonly token: string;
  readonly password: string;
  readonly key: string;
  readonly folder: string;
}

/** The three programs of one version, in separate processes as in the chart. */
export class Version {
  readonly name: string;
  readonly #build: string;
  readonly #shared: Shared;
  #starts = 0;
  apiserver!: ServerProcess;
  accessServer!: ServerProcess;
  controllerManager!: ServerProcess;
  services!: Services;

  constructor(name: string, build: string, shared: Shared) {
    this.name = name;
    this.#build = build;
    this.#shared = shared;
  }

  get api(): ServiceClient {
    return new ServiceClient(this.services.platformUrl, `Bearer ${this.#shared.token}`);
  }

  async start(): Promise<void> {
    const { databaseUrl, token, password, key, folder } = this.#shared;
    this.#starts += 1;
    const home = join(folder, this.name);
    await mkdir(home, { recursive: true });
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, token, { mode: 0o600 });
    const onDatabase = [
      `--svc.database.url=${databaseUrl}`,
      `--svc.security.initial-admin-token=${token}`,
      `--svc.security.initial-admin-password=${password}`,
      `--svc.security.key=${key}`,
    ];
    const run = (command: string, args: readonly string[]): ServerProcess =>
      startBuild({
        build: this.#build,
        command,
        args: [`--svc.data.dir=${command}`, ...args],
        folder: home,
        name: `${this.name}-${command}-${this.#starts}`,
      });
    this.apiserver = run('apiserver', onDatabase);
    const platformUrl = String((await this.apiserver.ready())['url']);
    this.accessServer = run('access-server', [
      ...onDatabase,
      `--svc.access.api-url=${platformUrl}`,
      `--svc.access.token-file=${tokenFile}`,
    ]);
    this.controllerManager = run('controller-manager', [
      `--svc.controllers.api-url=${platformUrl}`,
      `--svc.controllers.token-file=${tokenFile}`,
    ]);
    const accessUrl = String((await this.accessServer.ready())['accessUrl']);
    await this.controllerManager.ready();
    this.services = { platformUrl, accessUrl, token };
  }

  /** Stops it like a pod in a rollout. Returns the problems. */
  async stop(): Promise<string[]> {
    const programs = [this.controllerManager, this.accessServer, this.apiserver];
    const codes = await Promise.all(programs.map((program) => program.stop('SIGTERM')));
    return codes.flatMap((code, index) => (code === 0 ? [] : [`${programs[index]?.name} ended with ${code}`]));
  }
}
