import { Agent, request as newRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { collectionOf, documentOf, type Tenant } from './tenant-model.ts';

/** A client's view of its own requests. */
export interface Experience {
  requests: number;
  /** By status; 0 without a response. */
  statuses: Map<number, number>;
  /** Latency of the responses. Milliseconds. */
  p50: number;
  p99: number;
  longest: number;
  /** The 99th percentile of each kind of request. */
  p99Of: Map<string, number>;
}

const perSecond = 20;
const timeoutMs = 30_000;
/** Kept open, as clients do: the time to accept connections is not measured. */
const connections = 16;
/** Objects to read and change in turn: changes of one object wait for each other. */
const keptObjects = 7;

interface Sent {
  kind: string;
  method?: string;
  path: string;
  body?: object;
  contentType?: string;
}

/**
 * Works like users and controllers: reads, lists, changes and creates small objects, 20 requests a second, independent
 * of earlier responses.
 */
export class Neighbour {
  readonly #tenant: Tenant;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections, maxFreeSockets: connections });

  /** Opens its connections. */
  static async start(tenant: Tenant): Promise<Neighbour> {
    const neighbour = new Neighbour(tenant);
    for (let i = 0; i < keptObjects; i += 1)
      await neighbour.#send({
        method: 'POST',
        path: '',
        body: documentOf(`kept-${i}`, { title: 'kept', text: 'x'.repeat(500) }),
      });
    await Promise.all(Array.from({ length: connections }, () => neighbour.#send({ path: '?limit=1' })));
    return neighbour;
  }

  private constructor(tenant: Tenant) {
    this.#tenant = tenant;
  }

  async work(seconds: number): Promise<Experience> {
    const timesOf = new Map<string, number[]>();
    const statuses = new Map<number, number>();
    const underWay = new Set<Promise<void>>();
    const begin = performance.now();
    for (let i = 0; i < seconds * perSecond; i += 1) {
      await delay(Math.max(0, begin + (i * 1000) / perSecond - performance.now()));
      const sent = this.#measure(this.#next(i, begin), timesOf, statuses);
      underWay.add(sent);
      void sent.finally(() => underWay.delete(sent));
    }
    await Promise.all(underWay);
    const times = [...timesOf.values()].flat();
    const p99Of = new Map([...timesOf].map(([kind, each]) => [kind, percentile(each, 0.99)]));
    return {
      requests: times.length,
      statuses,
      p50: percentile(times, 0.5),
      p99: percentile(times, 0.99),
      longest: Math.max(...times),
      p99Of,
    };
  }

  stop(): void {
    this.#agent.destroy();
  }

  #next(i: number, run: number): Sent {
    const one = `/kept-${i % keptObjects}`;
    const kinds: Sent[] = [
      { kind: 'get', path: one },
      {
        kind: 'create',
        method: 'POST',
        path: '',
        body: documentOf(`small-${Math.round(run)}-${i}`, { title: `${i}`, text: 'x'.repeat(500) }),
      },
      { kind: 'list', path: '?limit=20' },
      {
        kind: 'patch',
        method: 'PATCH',
        path: one,
        body: { spec: { title: `${i}` } },
        contentType: 'application/merge-patch+json',
      },
    ];
    return kinds[i % kinds.length]!;
  }

  async #measure(sent: Sent, timesOf: Map<string, number[]>, statuses: Map<number, number>): Promise<void> {
    const start = performance.now();
    const status = await this.#send(sent).catch(() => 0);
    const times = timesOf.get(sent.kind) ?? [];
    times.push(performance.now() - start);
    timesOf.set(sent.kind, times);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  #send({ method = 'GET', path, body, contentType = 'application/json' }: Omit<Sent, 'kind'>): Promise<number> {
    const { port, authorization, namespace } = this.#tenant;
    return new Promise((resolve, reject) => {
      const headers = { Authorization: authorization, ...(body === undefined ? {} : { 'Content-Type': contentType }) };
      const options = {
        agent: this.#agent,
        host: '127.0.0.1',
        port,
        method,
        path: `${collectionOf(namespace)}${path}`,
        headers,
        signal: AbortSignal.timeout(timeoutMs),
      };
      const request = newRequest(options, (response) => {
        response
          .on('error', reject)
          .on('end', () => resolve(response.statusCode ?? 0))
          .resume();
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

export function percentile(times: readonly number[], part: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * part)]!;
}

/** `200: 12, 429: 3`. */
export function countsText(counts: Iterable<readonly [string | number, number]>): string {
  return [...counts].map(([status, count]) => `${status}: ${count}`).join(', ');
}

/**
 * Responses, or missing ones, that a legitimate user must not get; includes missing permissions, which would make the
 * work too easy.
 */
export function failuresIn({ statuses }: Experience): string[] {
  return [...statuses]
    .filter(([status]) => status !== 200 && status !== 201)
    .map(([status, count]) => `${status === 0 ? 'no answer' : status}: ${count} times`);
}
