import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import type { ServiceClient, ApiObject } from '../service-client.ts';
import { booksPath } from '../fixtures/definitions.ts';
import { Follower } from './follower.ts';
import { Load } from './load.ts';

const workerCount = 8;
const watchTimeoutMs = 60_000;

/** Writers and watchers during a whole rollout. */
export class Clients {
  readonly #position: string;
  readonly #load: Load;
  readonly #followers: Follower[] = [];
  #targets: readonly ServiceClient[];

  constructor(api: ServiceClient, position: string) {
    this.#position = position;
    this.#targets = [api];
    this.#load = new Load(() => this.#targets, workerCount);
    this.follow(api);
  }

  get facts(): string {
    const { requests, slowestMs } = this.#load;
    return `${requests} requests, ${this.#followers[0]?.events.length} events, the slowest request ${Math.round(slowestMs)} ms`;
  }

  /** Problems of the writers so far. */
  get problems(): readonly string[] {
    return this.#load.problems;
  }

  /** Adds a watch from the start revision. */
  follow(api: ServiceClient): void {
    this.#followers.push(new Follower(api, this.#position));
  }

  /** Sets the servers for the writers. */
  ask(...targets: readonly ServiceClient[]): void {
    this.#targets = targets;
  }

  /** Moves all clients to that server: writers immediately, watches when their server ends them. */
  async leaveFor(api: ServiceClient): Promise<void> {
    this.ask(api);
    for (const follower of this.#followers) follower.moveTo(api);
    await this.#load.settle();
  }

  /** Violated promises: failures, lost counts, and watches with other events or another order. */
  async findings(api: ServiceClient): Promise<string[]> {
    await this.#load.end();
    const { spec } = (await api.get(`${booksPath}/counter`)) as { spec: { year: number } };
    const { counted } = this.#load;
    return [
      ...this.problems,
      ...(spec.year === counted ? [] : [`${counted} were counted, and ${spec.year} are there`]),
      ...(await this.#heard(api)),
    ];
  }

  async end(): Promise<void> {
    await Promise.all([this.#load.end(), ...this.#followers.map((follower) => follower.end())]);
  }

  async #heard(api: ServiceClient): Promise<string[]> {
    const mark = { metadata: { labels: { end: 'yes' } } };
    const last = (await api.expect('PATCH', `${booksPath}/counter`, mark, {
      'content-type': 'application/merge-patch+json',
    })) as unknown as ApiObject;
    const problems: string[] = [];
    for (const [index, follower] of this.#followers.entries()) {
      await retryUntilTrue(() => follower.position === last.metadata.resourceVersion, {
        what: `watch ${index} receives the last event`,
        timeoutMs: watchTimeoutMs,
      }).catch((error: Error) => problems.push(error.message));
      await follower.end();
      problems.push(...follower.problems);
    }
    const [one, ...others] = this.#followers.map(({ events }) => events);
    for (const other of others) {
      const at = other.findIndex((event, position) => event !== one?.[position]);
      if (at !== -1 || one?.length !== other.length)
        problems.push(
          `two watches differ at ${at}: ${one?.[at]} and ${other[at]}; ${one?.length} and ${other.length} events`,
        );
    }
    return problems;
  }
}
