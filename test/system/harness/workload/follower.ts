import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient, NoAnswer } from '../client/api-client.ts';
import { LineSplitter } from '../process/line-splitter.ts';
import { now } from '../history/instant.ts';
import type { WireObject } from './sample-models.ts';

const pauseMs = 100;
const streamSeconds = 20;

export interface FollowerOptions {
  token: string;
  port: number;
  /** Path of the collection. */
  path: string;
}

type WireEvent =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: WireObject }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string } } }
  | { type: 'ERROR'; object: { code: number } };

/** A cache of one collection, like a controller's: a list, then a watch from there, and a new list after 410. */
export class Follower {
  /** Its view of the collection: marker and revision of each object. */
  readonly objects = new Map<string, string>();
  /** All observed states: the content of each object at a revision. */
  readonly sightings = new Map<string, string>();
  /** When it had to list again, and its position then. */
  readonly resets: { at: number; position: number }[] = [];
  /** Impossible observations. */
  readonly contradictions: string[] = [];
  readonly #api: ApiClient;
  readonly #options: FollowerOptions;
  #position: number | undefined;
  /** The highest observed revision. */
  #highest = 0;
  #stream: IncomingMessage | undefined;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#api = new ApiClient({ token: options.token });
  }

  get position(): number {
    return this.#position ?? 0;
  }

  start(): void {
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#stream?.destroy();
    await this.#work;
    this.#api.close();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        if (this.#position === undefined) await this.#list();
        else await this.#watch(this.#position);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
      }
      await delay(pauseMs);
    }
  }

  async #list(): Promise<void> {
    const { port, path } = this.#options;
    const answer = await this.#api.request({ port, path });
    if (answer.status !== 200) return;
    const { metadata, items } = JSON.parse(answer.text) as {
      metadata: { resourceVersion: string };
      items: WireObject[];
    };
    const revision = Number(metadata.resourceVersion);
    if (revision < this.#highest)
      this.contradictions.push(`a list at ${revision}, after revision ${this.#highest} was seen`);
    this.objects.clear();
    for (const item of items) this.objects.set(item.metadata.name, this.#see(item));
    this.#position = revision;
    this.#highest = Math.max(this.#highest, revision);
  }

  async #watch(from: number): Promise<void> {
    const { port, path } = this.#options;
    const answer = await this.#api.open({
      port,
      path: `${path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=${streamSeconds}&resourceVersion=${from}`,
    });
    if (answer.statusCode === 410) this.#reset();
    if (answer.statusCode !== 200 || this.#isOver) {
      answer.resume();
      if (this.#isOver) answer.destroy();
      return;
    }
    const lines = new LineSplitter();
    this.#stream = answer;
    answer.on('data', (bytes: Buffer) => {
      for (const line of lines.take(bytes)) if (line.trim() !== '') this.#hear(JSON.parse(line) as WireEvent);
    });
    await new Promise<void>((resolve) => {
      answer.on('error', () => undefined);
      answer.once('close', () => resolve());
    });
    this.#stream = undefined;
  }

  #hear(event: WireEvent): void {
    if (event.type === 'ERROR') {
      if (event.object.code === 410) this.#reset();
      return;
    }
    const revision = Number(event.object.metadata.resourceVersion);
    if (
      this.#position !== undefined &&
      (revision < this.#position || (revision === this.#position && event.type !== 'BOOKMARK'))
    )
      this.contradictions.push(`${event.type} at ${revision} after ${this.#position}`);
    if (event.type !== 'BOOKMARK') {
      const seen = this.#see(event.object);
      if (event.type === 'DELETED') this.objects.delete(event.object.metadata.name);
      else this.objects.set(event.object.metadata.name, seen);
    }
    if (this.#position !== undefined) this.#position = Math.max(this.#position, revision);
    this.#highest = Math.max(this.#highest, revision);
  }

  #see({ metadata: { name, resourceVersion }, spec: { marker } }: WireObject): string {
    const key = `${name} at ${resourceVersion ?? ''}`;
    const before = this.sightings.get(key);
    if (before !== undefined && before !== marker) this.contradictions.push(`${key} is ${marker}, and was ${before}`);
    this.sightings.set(key, marker);
    return `${marker} at ${resourceVersion ?? ''}`;
  }

  #reset(): void {
    this.resets.push({ at: now(), position: this.position });
    this.#position = undefined;
  }
}
