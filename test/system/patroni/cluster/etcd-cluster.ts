import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { etcdEnvironment, ports, type Machine } from './config-files.ts';

const startTimeoutMs = 60_000;
const requestTimeoutMs = 5_000;

/** etcd, one process for each machine. */
export class EtcdCluster {
  readonly url: string;
  readonly #children: ChildProcess[] = [];

  static async start(folder: string, machines: readonly Machine[]): Promise<EtcdCluster> {
    const cluster = new EtcdCluster(machines);
    try {
      const home = join(folder, 'etcd');
      await mkdir(home, { recursive: true });
      for (const machine of machines) cluster.#launch(home, machine, await etcdEnvironment(machines, machine, home));
      await retryUntilTrue(() => cluster.#isHealthy(), { what: 'etcd has a leader', timeoutMs: startTimeoutMs });
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  private constructor(machines: readonly Machine[]) {
    this.url = `http://${machines[0]?.host}:${ports.etcd}`;
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }),
    );
  }

  #launch(home: string, { name }: Machine, env: Record<string, string>): void {
    const log = openSync(join(home, `${name}.log`), 'a');
    const child = spawn('etcd', [], { cwd: home, env: { PATH: '/usr/bin', ...env }, stdio: ['ignore', log, log] });
    closeSync(log);
    child.once('error', () => undefined);
    this.#children.push(child);
  }

  async #isHealthy(): Promise<boolean> {
    const answer = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(requestTimeoutMs) });
    return ((await answer.json()) as { health: string }).health === 'true';
  }
}
