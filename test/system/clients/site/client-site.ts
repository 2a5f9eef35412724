import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ApiServer } from '../../harness/process/api-server.ts';
import { CheckReport } from '../../harness/run/check-report.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { CommandResult } from './run-command.ts';

const untilMs = 60_000;

/** `svc serve` with its kubeconfig, and a folder for what programs write: what each case gets. */
export class ClientSite {
  readonly folder: string;
  readonly report: CheckReport;
  #server: ApiServer;

  static async start(parent: string, print: (line: string) => void): Promise<ClientSite> {
    const folder = await mkdtemp(join(parent, 'svc-clients-'));
    // PostgreSQL runs as another user.
    await chmod(folder, 0o755);
    await mkdir(join(folder, 'home'));
    const server = await ApiServer.start({ command: 'serve', dataDir: join(folder, 'data') });
    const site = new ClientSite(folder, server, new CheckReport(print));
    await site.until('the server has written its kubeconfig', () => existsSync(site.kubeconfig));
    return site;
  }

  private constructor(folder: string, server: ApiServer, report: CheckReport) {
    this.folder = folder;
    this.#server = server;
    this.report = report;
  }

  get server(): ApiServer {
    return this.#server;
  }

  /** As `svc serve` writes it: https with its certificate authority, and the administrator's token. */
  get kubeconfig(): string {
    return join(this.#server.dataDir, 'kubeconfig');
  }

  /** Settings of this machine's user do not reach the programs. */
  get env(): Readonly<Record<string, string>> {
    const home = join(this.folder, 'home');
    return {
      KUBECONFIG: this.kubeconfig,
      HOME: home,
      HELM_CONFIG_HOME: home,
      HELM_CACHE_HOME: home,
      HELM_DATA_HOME: home,
    };
  }

  check(what: string, holds: boolean, because = ''): void {
    this.report.check(what, holds, because);
  }

  /** Checks that it is this JSON; undefined counts as null. */
  checkEqual(what: string, actual: unknown, expected: unknown): void {
    const holds = isDeepStrictEqual(JSON.parse(JSON.stringify(actual ?? null)), expected);
    this.check(what, holds, `it is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`);
  }

  /** Checks that a program succeeded without a complaint. */
  checkDone(what: string, { status, stdout, stderr }: CommandResult): void {
    this.check(what, status === 0 && !/warning/i.test(stderr), `status ${status}\n${stderr}${stdout}`);
  }

  /** Checks that a program failed, and why. */
  checkRefused(what: string, { status, stdout, stderr }: CommandResult, reason: RegExp): void {
    this.check(what, status !== 0 && reason.test(stderr), `status ${status}\n${stderr}${stdout}`);
  }

  /** What the server has at a path; undefined if it is not there. Throws for any other failure. */
  async find<T = Record<string, unknown>>(path: string): Promise<T | undefined> {
    const { status, text } = await this.#server.request(path);
    if (status === 404) return undefined;
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${text.slice(0, 500)}`);
    return JSON.parse(text) as T;
  }

  /** The names of a collection, in order. */
  async names(path: string): Promise<string[]> {
    const { items } = JSON.parse(await this.#server.fetch(path)) as { items: { metadata: { name: string } }[] };
    return items.map(({ metadata }) => metadata.name);
  }

  async until(what: string, condition: () => Promise<boolean> | boolean): Promise<void> {
    await retryUntilTrue(condition, { what, timeoutMs: untilMs });
  }

  /** Kills the server and starts it again on the same ports and data. */
  async restartServer(): Promise<void> {
    const { dataDir, port, accessPort, tlsPort } = this.#server;
    await this.#server.process.stop('SIGKILL');
    this.#server = await ApiServer.start({ command: 'serve', dataDir, ports: { port, accessPort, tlsPort } });
  }

  /** Stops the server, and removes the folder unless `isKept`. */
  async stop(isKept: boolean): Promise<void> {
    await this.#server.stop();
    if (!isKept) await rm(this.folder, { recursive: true, force: true });
  }
}
