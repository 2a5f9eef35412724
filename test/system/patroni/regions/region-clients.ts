import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { makeModel } from '../../harness/workload/define-models.ts';
import { Follower } from '../../harness/workload/follower.ts';
import { MarkedWriter, type Acknowledged } from '../../harness/workload/marked-writer.ts';
import { OperationLog } from '../../harness/workload/operation-log.ts';
import { readMarks } from '../../harness/workload/read-marks.ts';
import { RecordingClient, type Target } from '../../harness/workload/recording-client.ts';
import { notes, pathOf } from '../../harness/workload/sample-models.ts';
import type { Region } from './region.ts';

const writerCount = 4;
const followerCount = 6;
const settleMs = 60_000;

/** Writers and watches that reach svc by one name, which leads to one region at a time, as DNS does it. */
export class RegionClients {
  readonly followers: readonly Follower[];
  readonly #writers: readonly MarkedWriter[];
  readonly #front: { port: number };

  /** Defines the model, and starts all clients. */
  static async start(server: Target, { token, seed }: { token: string; seed: number }): Promise<RegionClients> {
    const random = new SeededRandom(seed);
    const operator = new RecordingClient({ id: 1, targets: [server], token, random, operationLog: new OperationLog() });
    await makeModel({ operator, replicas: [server], modelChanges: [] }, notes);
    operator.api.close();
    const clients = new RegionClients(server, token);
    for (const one of [...clients.#writers, ...clients.followers]) one.start();
    return clients;
  }

  private constructor({ port: first }: Target, token: string) {
    const front = { port: first };
    this.#front = front;
    const behindFront = {
      token,
      // Read for each request.
      get port(): number {
        return front.port;
      },
    };
    const withFront = <Rest extends object>(rest: Rest): Rest & typeof behindFront =>
      Object.defineProperties(rest, Object.getOwnPropertyDescriptors(behindFront)) as Rest & typeof behindFront;
    this.#writers = Array.from(
      { length: writerCount },
      (_, i) => new MarkedWriter(withFront({ id: i + 1, model: notes })),
    );
    this.followers = Array.from({ length: followerCount }, () => new Follower(withFront({ path: pathOf(notes) })));
  }

  /** All clients reach this server from now on. */
  leadTo({ port }: Target): void {
    this.#front.port = port;
  }

  get acknowledged(): Acknowledged[] {
    return this.#writers.flatMap(({ acknowledged }) => acknowledged);
  }

  /** When the first write after this moment was acknowledged. */
  async acknowledgedAfter(moment: number): Promise<number> {
    let first = Infinity;
    await retryUntilTrue(
      () => {
        first = Math.min(...this.acknowledged.map(({ at }) => at).filter((at) => at > moment));
        return first < Infinity;
      },
      { what: 'svc acknowledges writes', timeoutMs: settleMs, intervalMs: 10 },
    );
    return first;
  }

  async stopWriters(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.stop()));
  }

  async stop(): Promise<void> {
    await Promise.all([this.stopWriters(), ...this.followers.map((follower) => follower.stop())]);
  }

  /** The numbers of the followers that do not hold what the region does, after a time to catch up. */
  async strayFollowers(region: Region): Promise<number[]> {
    const present = await readMarks(region, notes);
    const isSame = ({ objects }: Follower): boolean =>
      objects.size === present.size && [...objects].every(([name, state]) => present.get(name) === state);
    await retryUntilTrue(() => this.followers.every(isSame), {
      what: 'every follower holds what the database holds',
      timeoutMs: settleMs,
    }).catch(() => undefined);
    return this.followers.flatMap((follower, i) => (isSame(follower) ? [] : [i + 1]));
  }
}
