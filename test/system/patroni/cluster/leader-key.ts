import { setTimeout as delay } from 'node:timers/promises';
import { LineSplitter } from '../../harness/process/line-splitter.ts';
import { now } from '../../harness/history/instant.ts';

const key = '/service/svc/leader';
const pauseMs = 200;

/** A change of the lock: who holds it from this moment; undefined if nobody does. */
export interface LeaderChange {
  at: number;
  holder: string | undefined;
}

interface WatchAnswer {
  result?: { events?: { type?: 'DELETE'; kv: { value?: string } }[] };
}

/** Follows the lock in etcd that makes a Patroni the leader, by etcd's watch. */
export class LeaderKey {
  readonly changes: LeaderChange[] = [];
  /** Of etcd's members. */
  readonly #urls: readonly string[];
  #attempts = 0;
  readonly #ended = new AbortController();
  #work: Promise<void> = Promise.resolve();

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  start(): void {
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#work;
  }

  /** The first change after this moment that gave the lock to another than `former`. */
  takenAfter(moment: number, former: string): LeaderChange | undefined {
    return this.changes.find(({ at, holder }) => at >= moment && holder !== undefined && holder !== former);
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      // A stream that was lost is opened again, at another member; a change in between is missed.
      await this.#watch(signal).catch(() => undefined);
      await delay(pauseMs);
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const url = this.#urls[this.#attempts % this.#urls.length] ?? '';
    this.#attempts += 1;
    const answer = await fetch(`${url}/v3/watch`, {
      method: 'POST',
      signal,
      body: JSON.stringify({ create_request: { key: Buffer.from(key).toString('base64') } }),
    });
    const lines = new LineSplitter();
    for await (const bytes of answer.body ?? [])
      for (const line of lines.take(Buffer.from(bytes))) this.#hear(JSON.parse(line) as WatchAnswer);
  }

  #hear({ result }: WatchAnswer): void {
    for (const { type, kv } of result?.events ?? [])
      this.changes.push({
        at: now(),
        holder: type === 'DELETE' ? undefined : Buffer.from(kv.value ?? '', 'base64').toString(),
      });
  }
}
