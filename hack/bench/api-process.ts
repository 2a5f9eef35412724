import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { definitionOf, pathOf, type SampleModel } from './sample-post.ts';

const program = fileURLToPath(new URL('../../dist/cmd/svc/main.js', import.meta.url));
const startTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;

export interface ApiProcessOptions {
  /** A folder of its own is made in it. */
  dataParent: string;
  /** Where the server writes its processor profile when it ends. */
  profileFolder?: string;
}

/** The built `svc serve`, as shipped, with default options, on its embedded PostgreSQL in a data folder of its own. */
export class ApiProcess {
  readonly port: number;
  readonly authorization: string;
  readonly postmaster: number;
  readonly databaseConnection: pg.ClientConfig;
  readonly #child: ChildProcess;
  readonly #dataDir: string;

  static async start({ dataParent, profileFolder }: ApiProcessOptions): Promise<ApiProcess> {
    const dataDir = await mkdtemp(join(dataParent, 'svc-bench-'));
    // PostgreSQL may run as another user than we.
    await chmod(dataDir, 0o755);
    const port = await freePort();
    const log = openSync(join(dataDir, 'server.log'), 'w');
    const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
    const args = [...profiling, program, 'serve', `--svc.server.port=${port}`, `--svc.data.dir=${dataDir}`];
    // No variable of the shell may change what is measured.
    const child = spawn(process.execPath, args, { cwd: dataDir, env: {}, stdio: ['ignore', log, log] });
    try {
      await untilReady(child, port, dataDir);
      return new ApiProcess({ child, dataDir, port, token: await readFile(join(dataDir, 'admin-token'), 'utf8'), pidFile: await readPidFile(dataDir) });
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  private constructor({ child, dataDir, port, token, pidFile }: { child: ChildProcess; dataDir: string; port: number; token: string; pidFile: string[] }) {
    this.#child = child;
    this.#dataDir = dataDir;
    this.port = port;
    this.authorization = `Authorization: Bearer ${token.trim()}`;
    this.postmaster = Number(pidFile[0]);
    this.databaseConnection = { host: pidFile[4] ?? '', port: Number(pidFile[3]), user: 'svc', database: 'postgres', password: '', ssl: false };
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The text of an answer; throws where it is no success. */
  async fetch(path: string, init: { method?: string; body?: string } = {}): Promise<string> {
    const headers = { 'Content-Type': 'application/json', Authorization: this.authorization.slice('Authorization: '.length) };
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${text}`);
    return text;
  }

  /** Resolves when the model is served. */
  async define(model: SampleModel): Promise<void> {
    await this.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: JSON.stringify(definitionOf(model)) });
    const deadline = Date.now() + startTimeoutMs;
    while (!(await this.#serves(model))) {
      if (Date.now() > deadline) throw new Error(`${model.plural} are not served`);
      await delay(20);
    }
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.databaseConnection);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Ends server and database, and removes the data. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const late = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
      await ended;
      clearTimeout(late);
    }
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async #serves(model: SampleModel): Promise<boolean> {
    return this.fetch(`${pathOf(model)}?limit=1`).then(
      () => true,
      () => false,
    );
  }
}

async function untilReady(child: ChildProcess, port: number, dataDir: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok === true) return;
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the server did not start:\n${await readFile(join(dataDir, 'server.log'), 'utf8')}`);
    await delay(50);
  }
}

/** The lines of postmaster.pid: process, data folder, start time, port, socket folder. */
async function readPidFile(dataDir: string): Promise<string[]> {
  const cluster = (await readdir(dataDir)).find((name) => name.startsWith('pgdata'));
  if (cluster === undefined) throw new Error('PostgreSQL keeps its data elsewhere: choose a folder it can enter, with --data');
  return (await readFile(join(dataDir, cluster, 'postmaster.pid'), 'utf8')).split('\n');
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
