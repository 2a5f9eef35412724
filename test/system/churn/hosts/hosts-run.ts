import { mkdtemp, rm, chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { RestClient } from '../../../../pkg/client/index.ts';
import { registerModel } from '../../../../pkg/index.ts';
import { leaseType } from '../../../../pkg/runtime/index.ts';
import { ApiServer } from '../../harness/process/api-server.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { Outcome } from '../../harness/run/run-main.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { HostProcess } from './host-process.ts';
import { Job, jobName, leaseGroup } from './job-model.ts';
import { TermHistory } from './term-history.ts';

const hostCount = 3;
const controllerCount = 100;
const waitMs = 120_000;
/** Allowed growth of a host's heap in the second half. Bytes. */
const allowedHeap = 6_000_000;

const changes = ['stop', 'kill', 'freeze'] as const;

/**
 * A hundred controllers on three hosts, of which one at a time is stopped, killed or frozen, and replaced. After each
 * change every controller must handle a new number, and the hosts must share the controllers evenly.
 */
export class HostsRun {
  readonly #server: ApiServer;
  readonly #client: RestClient;
  readonly #random: SeededRandom;
  readonly #history = new TermHistory();
  readonly #failures: string[] = [];
  #hosts: HostProcess[] = [];
  #started = 0;
  #number = 0;
  #passed = 0;

  static async run(options: { rounds: number; seed: number; parent: string }): Promise<Outcome> {
    const folder = await mkdtemp(join(options.parent, 'svc-churn-hosts-'));
    // PostgreSQL may run as another user.
    await chmod(folder, 0o755);
    const server = await ApiServer.start({
      command: 'serve',
      dataDir: join(folder, 'data'),
      args: ['--svc.log.level=warn'],
    });
    const run = new HostsRun(server, options.seed);
    try {
      return await run.#run(options.rounds);
    } finally {
      await run.#stop();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  }

  private constructor(server: ApiServer, seed: number) {
    this.#server = server;
    this.#client = RestClient.connect({ url: `http://127.0.0.1:${server.port}`, token: server.token });
    this.#random = new SeededRandom(seed);
  }

  async #run(rounds: number): Promise<Outcome> {
    await registerModel(this.#client, Job);
    for (let i = 0; i < controllerCount; i += 1)
      await this.#client.create(Job, {
        apiVersion: 'churn.example.com/v1',
        kind: 'Job',
        metadata: { name: jobName(i) },
        spec: { number: 0 },
      });
    const stopping = new AbortController();
    const recording = this.#record(stopping.signal);
    for (let i = 0; i < hostCount; i += 1) this.#start();
    printRow(['round', 'change', 'handled s', 'even s', 'moved', 'heap MB']);
    let first = 0;
    let heap = 0;
    for (let round = 0; round <= rounds; round += 1) {
      const change = round === 0 ? 'start' : changes[this.#random.below(changes.length)]!;
      const before = await this.#holders();
      const began = performance.now();
      const thaw = await this.#change(change);
      await this.#expect(`round ${round}: every controller handles a new number`, () => this.#handleNext());
      const handledMs = performance.now() - began;
      thaw();
      await this.#expect(`round ${round}: the hosts share the controllers evenly`, () => this.#areEven());
      const after = await this.#holders();
      const moved = [...after].filter(([name, holder]) => before.get(name) !== holder).length;
      // The first host stays for the whole run.
      heap = await this.#hosts[0]!.heap();
      if (round === Math.floor(rounds / 2)) first = heap;
      const seconds = (ms: number): string => (ms / 1000).toFixed(1);
      printRow([round, change, seconds(handledMs), seconds(performance.now() - began), moved, (heap / 1e6).toFixed(1)]);
    }
    await this.#expect('renewals are one write for a host and period', () => this.#renewals());
    stopping.abort();
    await recording;
    this.#check('no write of a former leader was taken', this.#history.violations);
    this.#check('the heap of a host stays', heap > first + allowedHeap ? [`it grew by ${heap - first} bytes`] : []);
    process.stdout.write(`${this.#history.writes} writes of ${controllerCount} controllers, ${this.#started} hosts\n`);
    return { passed: this.#passed, failures: this.#failures };
  }

  #start(): HostProcess {
    this.#started += 1;
    const host = new HostProcess({
      url: `http://127.0.0.1:${this.#server.port}`,
      token: this.#server.token,
      identity: `host-${this.#started}`,
      controllers: controllerCount,
    });
    this.#hosts.push(host);
    return host;
  }

  /** Returns what ends the change. */
  async #change(change: 'start' | (typeof changes)[number]): Promise<() => void> {
    if (change === 'start') return () => undefined;
    const host = this.#hosts[1 + this.#random.below(hostCount - 1)]!;
    if (change === 'freeze') {
      host.signal('SIGSTOP');
      return () => host.signal('SIGCONT');
    }
    await host.end(change === 'stop' ? 'SIGTERM' : 'SIGKILL');
    this.#hosts = this.#hosts.filter((each) => each !== host);
    this.#start();
    return () => undefined;
  }

  async #handleNext(): Promise<boolean> {
    this.#number += 1;
    const number = this.#number;
    const names = Array.from({ length: controllerCount }, (_, i) => jobName(i));
    await Promise.all(
      names.map((name) =>
        this.#client.patch(Job, { namespace: '', name }, { type: 'merge', patch: { spec: { number } } }),
      ),
    );
    await retryUntilTrue(
      async () => (await this.#client.list(Job)).items.every(({ status }) => status?.handled === number),
      { what: `all handle ${number}`, timeoutMs: waitMs, intervalMs: 50 },
    );
    return true;
  }

  async #areEven(): Promise<boolean> {
    const wanted = this.#hosts.map(({ identity }) => identity);
    await retryUntilTrue(
      async () => {
        const holders = [...(await this.#holders()).values()];
        const loads = wanted.map((host) => holders.filter((holder) => holder === host).length);
        const sum = loads.reduce((all, load) => all + load, 0);
        return sum === controllerCount && Math.max(...loads) - Math.min(...loads) <= 1;
      },
      { what: 'even loads', timeoutMs: waitMs, intervalMs: 100 },
    );
    return true;
  }

  /** The holder of each controller's lease. */
  async #holders(): Promise<Map<string, string | undefined>> {
    const { items } = await this.#client.list(leaseType, { namespace: 'default' });
    return new Map(
      items
        .filter(({ metadata }) => metadata.name.startsWith(`${leaseGroup}.job-`))
        .map(({ metadata, spec }) => [metadata.name, spec?.holderIdentity]),
    );
  }

  /**
   * Nothing else is written while the hosts stay the same. On a busy machine a host may lose its lease and come back,
   * so that another ten seconds have to show it.
   */
  async #renewals(): Promise<boolean> {
    for (let attempt = 0; attempt < 6; attempt += 1) if (await this.#renewOnly()) return true;
    return false;
  }

  /** Whether ten seconds show the renewals of all hosts and no other write. */
  async #renewOnly(): Promise<boolean> {
    const { resourceVersion } = await this.#client.list(leaseType, { namespace: 'default' });
    const names: string[] = [];
    const signal = AbortSignal.timeout(10_000);
    try {
      for await (const event of await this.#client.watch(leaseType, { namespace: 'default', resourceVersion, signal }))
        if (event.type !== 'BOOKMARK') names.push(event.object.metadata.name);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    const ofHosts = names.filter((name) => name.startsWith(`${leaseGroup}.host.`));
    const others = names.filter((name) => name !== leaseGroup && !ofHosts.includes(name));
    process.stdout.write(
      `${ofHosts.length} renewals of ${new Set(ofHosts).size} hosts in 10 s, ${others.length} others\n`,
    );
    return new Set(ofHosts).size === hostCount && ofHosts.length <= hostCount * 11 && others.length === 0;
  }

  async #record(signal: AbortSignal): Promise<void> {
    const { resourceVersion } = await this.#client.list(Job);
    try {
      for await (const event of await this.#client.watch(Job, { resourceVersion, signal })) this.#history.note(event);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #expect(what: string, holds: () => Promise<boolean>): Promise<void> {
    const problem = await holds().then(
      (isTrue) => (isTrue ? [] : ['it does not hold']),
      (error: Error) => [error.message],
    );
    this.#check(what, problem);
  }

  #check(what: string, problems: readonly string[]): void {
    if (problems.length === 0) this.#passed += 1;
    else this.#failures.push(`${what}: ${problems.slice(0, 5).join('; ')}`);
  }

  async #stop(): Promise<void> {
    for (const host of this.#hosts) {
      host.signal('SIGCONT');
      await host.end('SIGKILL');
    }
    this.#client.close();
  }
}

function printRow(cells: readonly (string | number)[]): void {
  process.stdout.write(`${cells.map((cell) => String(cell).padStart(11)).join(' ')}\n`);
}
