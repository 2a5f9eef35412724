import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../test/system/harness/free-port.ts';
import type { BenchDatabase } from './bench-database.ts';
import { definitionOf, pathOf, type SampleModel } from './sample-post.ts';

const program = fileURLToPath(new URL('../dist/cmd/svc/main.js', import.meta.url));
const startTimeoutMs = 120_000;
const stopTimeoutMs = 60_000;

export interface ApiProcessOptions {
  database: BenchDatabase;
  /** Of several in one PostgreSQL; default: the first. */
  databaseName?: string;
  /** Default `apiserver`; `serve` has the controllers and the access management service besides. */
  command?: 'apiserver' | 'serve';
  /** Options of the server; none by default. */
  args?: string[];
  /** A module, by its path from here, that the server's process loads first; it answers what `ask` sends. */
  preload?: string;
  /** Where the server writes its processor profile when it ends. */
  profileFolder?: string;
  /** File that takes the server into a control group before it starts. */
  groupFile?: string;
}

/** The built server, as shipped, with default options but for those given, on a port and with a token of its own. */
export class ApiProcess {
  readonly port: number;
  /** Of access management, where the command serves it. */
  readonly accessPort: number;
  /**
   * For https, of the content platform, where the command makes a certificate; its files lie in `tls` in the data
   * folder.
   */
  readonly tlsPort: number;
  readonly dataDir: string;
  readonly authorization: string;
  /** From its start to its readiness. */
  readonly startMs: number;
  readonly #child: ChildProcess;

  static async start({
    database,
    databaseName,
    command = 'apiserver',
    args = [],
    preload,
    profileFolder,
    groupFile,
  }: ApiProcessOptions): Promise<ApiProcess> {
    const dataDir = await mkdtemp(join(database.folder, 'server-'));
    const port = await freePort();
    const log = openSync(join(dataDir, 'server.log'), 'w');
    const ofNode = [
      ...(profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]),
      ...(preload === undefined ? [] : ['--import', new URL(preload, import.meta.url).href]),
    ];
    const accessPort = await freePort();
    const tlsPort = await freePort();
    const ofServer = [
      command,
      ...(command === 'serve' ? [`--svc.server.tls.port=${tlsPort}`, '--svc.access.tls.port=0'] : []),
      `--svc.server.port=${port}`,
      `--svc.access.port=${accessPort}`,
      `--svc.data.dir=${dataDir}`,
      `--svc.database.url=${database.url(databaseName)}`,
      ...args,
    ];
    const begin = performance.now();
    // No variable of the shell may change what is measured.
    const line = [process.execPath, ...ofNode, program, ...ofServer];
    const [file, ...rest] =
      groupFile === undefined ? line : ['/bin/sh', '-c', 'echo $$ >"$0" && exec "$@"', groupFile, ...line];
    const child = spawn(file!, rest, {
      cwd: dataDir,
      env: {},
      stdio: ['ignore', log, log, preload === undefined ? 'ignore' : 'ipc'],
    });
    try {
      await untilReady(child, port, dataDir);
      const startMs = performance.now() - begin;
      return new ApiProcess({
        child,
        port,
        accessPort,
        tlsPort,
        dataDir,
        startMs,
        token: await readFile(join(dataDir, 'admin-token'), 'utf8'),
      });
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  private constructor({
    child,
    port,
    accessPort,
    tlsPort,
    dataDir,
    startMs,
    token,
  }: {
    child: ChildProcess;
    port: number;
    accessPort: number;
    tlsPort: number;
    dataDir: string;
    startMs: number;
    token: string;
  }) {
    this.#child = child;
    this.port = port;
    this.accessPort = accessPort;
    this.tlsPort = tlsPort;
    this.dataDir = dataDir;
    this.startMs = startMs;
    this.authorization = `Authorization: Bearer ${token.trim()}`;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Of the preloaded module: to measure from now on, or what it measured. */
  async ask<Measured>(message: 'begin' | 'end'): Promise<Measured> {
    const answer = once(this.#child, 'message');
    this.#child.send(message);
    return ((await answer) as [Measured])[0];
  }

  /** The text of an answer; throws where it is no success. */
  async fetch(
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> } = {},
  ): Promise<string> {
    const headers = {
      'Content-Type': 'application/json',
      Authorization: this.authorization.slice('Authorization: '.length),
      ...init.headers,
    };
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${text}`);
    return text;
  }

  /** Resolves when the model is served. */
  async define(model: SampleModel): Promise<void> {
    await this.fetch('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      method: 'POST',
      body: JSON.stringify(definitionOf(model)),
    });
    await this.untilServed(`${pathOf(model)}?limit=1`);
  }

  async untilServed(path: string): Promise<void> {
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      const isServed = await this.fetch(path).then(
        () => true,
        () => false,
      );
      if (isServed) return;
      if (Date.now() > deadline) throw new Error(`${path} is not served`);
      await delay(5);
    }
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
    await ended;
    clearTimeout(late);
  }
}

async function untilReady(child: ChildProcess, port: number, dataDir: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok === true) return;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the server did not start:\n${await readFile(join(dataDir, 'server.log'), 'utf8')}`);
    await delay(10);
  }
}
