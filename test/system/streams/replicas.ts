import type { TestEnv, TestServer } from '../../../pkg/testenv/index.ts';
import { postType } from '../../../pkg/testenv/index.ts';
import type { SeededRandom } from '../../../pkg/testenv/faults/seeded-random.ts';

/** Who has connections to a replica. */
interface ReplicaClient {
  cut(url: string): void;
}

/** Two API servers that restart, on the database of a third one that does not. */
export class Replicas {
  readonly env: TestEnv;
  /** Where they are; one that restarts refuses connections. */
  readonly urls: string[];
  /** Those whose connections break when one is killed. */
  readonly clients = new Set<ReplicaClient>();
  readonly #servers: TestServer[];
  #restart: Promise<void> = Promise.resolve();
  #isRestarting = false;
  count = 0;

  private constructor(env: TestEnv, servers: TestServer[]) {
    this.env = env;
    this.#servers = servers;
    this.urls = servers.map(({ url }) => url);
  }

  static async start(env: TestEnv): Promise<Replicas> {
    return new Replicas(env, await Promise.all([startReplica(env), startReplica(env)]));
  }

  /** One of them, or both: after it has ended its streams, or with broken connections. Not while another is under way. */
  restart(random: SeededRandom): void {
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    const which = random.chance(0.2) ? [0, 1] : [random.below(2)];
    const isKilled = random.chance(0.5);
    this.#restart = this.#restartAll(which, isKilled);
    // A failure says `restarted`.
    this.#restart.catch(() => undefined);
  }

  /** Resolves when none is under way. */
  async restarted(): Promise<void> {
    await this.#restart;
  }

  async stop(): Promise<void> {
    await this.#restart;
    await Promise.all(this.#servers.map((server) => server.stop()));
  }

  async #restartAll(which: readonly number[], isKilled: boolean): Promise<void> {
    await Promise.all(which.map((i) => this.#restartOne(i, isKilled)));
    this.#isRestarting = false;
    this.count += which.length;
  }

  async #restartOne(i: number, isKilled: boolean): Promise<void> {
    if (isKilled) for (const client of this.clients) client.cut(this.urls[i]!);
    await this.#servers[i]!.stop();
    this.#servers[i] = await startAgain(this.env);
    this.urls[i] = this.#servers[i].url;
  }
}

/** A machine that is very busy may give PostgreSQL too little time to answer. */
async function startAgain(env: TestEnv): Promise<TestServer> {
  for (let triesLeft = 5; ; triesLeft -= 1) {
    try {
      return await startReplica(env);
    } catch (error) {
      if (triesLeft === 1) throw error;
    }
  }
}

async function startReplica(env: TestEnv): Promise<TestServer> {
  const server = await env.startServer();
  // A list waits until the server serves the model.
  await server.client.list(postType);
  return server;
}
