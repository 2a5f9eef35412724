import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { etcdEnvironment, ports, type Machine } from './config-files.ts';

const startTimeoutMs = 60_000;
const requestTimeoutMs = 5_000;

/** etcd's process on one machine. */
export class EtcdMember {
  readonly name: string;
  readonly url: string;
  readonly #home: string;
  readonly #env: Record<string, string>;
  #child: ChildProcess | undefined;

  static async prepare(home: string, machines: readonly Machine[], machine: Machine): Promise<EtcdMember> {
    return new EtcdMember(home, machine, await etcdEnvironment(machines, machine, home));
  }

  private constructor(home: string, { name, host }: Machine, env: Record<string, string>) {
    this.name = name;
    this.url = `http://${host}:${ports.etcd}`;
    this.#home = home;
    this.#env = env;
  }

  /** Starts the process. After a kill it goes on with its data. */
  launch(): void {
    const log = openSync(join(this.#home, `${this.name}.log`), 'a');
    const env = { PATH: '/usr/bin', ...this.#env };
    const child = spawn('etcd', [], { cwd: this.#home, env, stdio: ['ignore', log, log] });
    closeSync(log);
    child.once('error', () => undefined);
    this.#child = child;
  }

  /** Ends the process at once (SIGKILL), like the loss of its machine. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Whether it knows a leader. */
  async isHealthy(): Promise<boolean> {
    const answer = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(requestTimeoutMs) });
    return ((await answer.json()) as { health: string }).health === 'true';
  }
}

/** Arguments of etcdctl. docs/availability.md shows them. */
export const forgetArguments = ['del', '--prefix', '/service/svc/'];

/** etcd, one process for each machine. */
export class EtcdCluster {
  readonly members: readonly EtcdMember[];

  static async start(folder: string, machines: readonly Machine[]): Promise<EtcdCluster> {
    const home = join(folder, 'etcd');
    await mkdir(home, { recursive: true });
    const members: EtcdMember[] = [];
    for (const machine of machines) members.push(await EtcdMember.prepare(home, machines, machine));
    const cluster = new EtcdCluster(members);
    try {
      await cluster.launch();
      return cluster;
    } catch (error) {
      await cluster.kill();
      throw error;
    }
  }

  private constructor(members: readonly EtcdMember[]) {
    this.members = members;
  }

  get urls(): string[] {
    return this.members.map(({ url }) => url);
  }

  /** Starts all members; resolves when each knows a leader. */
  async launch(): Promise<void> {
    for (const member of this.members) member.launch();
    await this.untilHealthy();
  }

  async untilHealthy(): Promise<void> {
    const areHealthy = (): Promise<boolean[]> => Promise.all(this.members.map((member) => member.isHealthy()));
    await retryUntilTrue(async () => (await areHealthy()).every(Boolean), {
      what: 'etcd has a leader',
      timeoutMs: startTimeoutMs,
    });
  }

  /** Deletes what Patroni keeps, by `etcdctl`, as an operator does: the cluster begins anew then. */
  async forget(): Promise<void> {
    const env = { PATH: '/usr/bin', ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: this.urls.join(',') };
    await promisify(execFile)('etcdctl', forgetArguments, { env });
  }

  async kill(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
  }
}
