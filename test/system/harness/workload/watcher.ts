import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../seeded-random.ts';
import type {
  OperationId,
  SelectorRecord,
  StreamEnd,
  WatchEventRecord,
  WatcherRecord,
  WatchStreamRecord,
} from '../history/history.ts';
import { NoAnswer, type ApiAnswer } from '../client/api-client.ts';
import { LineSplitter } from '../process/line-splitter.ts';
import { refusalOf, type RecordingClient } from './recording-client.ts';
import { now } from '../history/instant.ts';
import { readList } from './read-list.ts';
import { observedObject, pathOf, type SampleModel, type WireObject } from './sample-models.ts';
import { selectorParameters } from './selector-text.ts';

export interface WatcherOptions {
  client: RecordingClient;
  model: SampleModel;
  /** '' for all. */
  namespace: string;
  selector: SelectorRecord;
  /** Uses server-sent events like a browser, resumed by Last-Event-ID. */
  asEventStream?: boolean;
}

type WireEvent =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: WireObject }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string; annotations?: Record<string, string> } } }
  | { type: 'ERROR'; object: { code: number; reason: string; message?: string } };

/** Streams are short, so that most are resumed. Seconds. */
const shortestStream = 2;
const longestStream = 10;
const initialEnd = 'k8s.io/initial-events-end';

/**
 * A client that watches a selection: resumes at its position after any end of a stream, and lists again only if that
 * has expired.
 */
export class Watcher {
  readonly record: WatcherRecord;
  readonly #options: WatcherOptions;
  readonly #random: SeededRandom;
  readonly #streams: WatchStreamRecord[] = [];
  /** Its position; undefined before the first list. */
  #position: number | undefined;
  #list: OperationId | undefined;
  #stream: IncomingMessage | undefined;
  #isStalled = false;
  #isAway = false;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: WatcherOptions) {
    const { client, model, namespace, selector } = options;
    this.#options = options;
    this.#random = client.random.fork('watch');
    this.record = { id: client.id, model: model.name, namespace, selector, streams: this.#streams };
  }

  /** It has all events up to this revision; 0 before the first list. */
  get position(): number {
    return this.#position ?? 0;
  }

  get isOpen(): boolean {
    return this.#stream !== undefined;
  }

  get events(): number {
    return this.#streams.reduce((sum, { events }) => sum + (events as WatchEventRecord[]).length, 0);
  }

  start(): void {
    this.#work = this.#run();
  }

  /** An open stream counts as live. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#stream?.destroy();
    await this.#work;
  }

  /** Stops reading, without closing, until `resume`. */
  stall(): void {
    this.#isStalled = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#isStalled = false;
    this.#stream?.resume();
  }

  /** Disconnects, and does not reconnect until `comeBack`. */
  leave(): void {
    this.#isAway = true;
    this.cut();
  }

  comeBack(): void {
    this.#isAway = false;
  }

  /** Disconnects. */
  cut(): void {
    this.#stream?.destroy(new Error('cut by the client'));
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      if (this.#isAway) {
        await delay(50);
        continue;
      }
      const end = await this.#follow();
      if (end.type === 'live') return;
      if (end.type === 'expired') this.#position = undefined;
      await delay(end.type === 'closed' ? this.#random.below(100) : 100 + this.#random.below(400));
    }
  }

  /** One stream from request to end. */
  async #follow(): Promise<StreamEnd> {
    const start = await this.#chooseStart();
    if (start === undefined) return { type: 'broken', at: now() };
    const target = this.#options.client.anyTarget();
    const events: WatchEventRecord[] = [];
    const stream: WatchStreamRecord = {
      replica: target.name,
      opened: now(),
      start,
      events,
      ended: { type: 'live', at: 0 },
    };
    this.#streams.push(stream);
    try {
      const answer = await this.#options.client.api.open({ port: target.port, ...this.#request(start) });
      stream.ended =
        answer.statusCode === 200 ? await this.#read(answer, start, events) : endOf(await wholeAnswer(answer));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      stream.ended = { type: 'broken', at: now(), error: error.message };
    }
    if (stream.ended.type === 'refused' && stream.ended.status === 404) this.#position = undefined;
    return stream.ended;
  }

  /** Its position, or else a list, or initial objects in the stream. Undefined if the list was refused. */
  async #chooseStart(): Promise<WatchStreamRecord['start'] | undefined> {
    const list = this.#list;
    this.#list = undefined;
    if (this.#position !== undefined)
      return { type: 'revision', revision: this.#position, ...(list === undefined ? {} : { list }) };
    const { client, model, namespace, selector, asEventStream } = this.#options;
    if (asEventStream !== true && this.#random.chance(0.4)) return { type: 'objects' };
    const { operation } = await readList(client, { model, namespace, selector });
    if (operation.outcome.type !== 'ok') return undefined;
    this.#position = operation.outcome.revision;
    this.#list = { client: operation.client, seq: operation.seq };
    return this.#chooseStart();
  }

  #request(start: WatchStreamRecord['start']): { path: string; headers: Record<string, string> } {
    const { model, namespace, selector, asEventStream } = this.#options;
    const query = selectorParameters(selector);
    query.set('watch', 'true');
    query.set('allowWatchBookmarks', 'true');
    query.set('timeoutSeconds', String(shortestStream + this.#random.below(longestStream - shortestStream)));
    if (start.type === 'objects') {
      query.set('sendInitialEvents', 'true');
      query.set('resourceVersionMatch', 'NotOlderThan');
    } else if (asEventStream !== true) {
      query.set('resourceVersion', String(start.revision));
    }
    const headers = {
      accept: 'text/event-stream',
      ...(start.type === 'revision' ? { 'last-event-id': String(start.revision) } : {}),
    };
    return { path: `${pathOf(model, namespace)}?${query.toString()}`, headers: asEventStream === true ? headers : {} };
  }

  #read(answer: IncomingMessage, start: WatchStreamRecord['start'], events: WatchEventRecord[]): Promise<StreamEnd> {
    const lines = new LineSplitter();
    let told: StreamEnd | undefined;
    // A stream cannot be resumed before the end of its initial objects.
    let isInitial = start.type === 'objects';
    this.#stream = answer;
    answer.on('data', (bytes: Buffer) => {
      const received = now();
      for (const line of lines.take(bytes)) {
        const event = eventIn(line);
        if (event === undefined) continue;
        if (event.type === 'ERROR') {
          told = endOfError(event.object);
          continue;
        }
        const heard = this.#recordOf(event, received);
        events.push(heard);
        if (heard.type === 'BOOKMARK' && heard.initialEnd === true) isInitial = false;
        if (!isInitial) this.#position = heard.type === 'BOOKMARK' ? heard.revision : heard.object.revision;
      }
    });
    if (this.#isStalled) answer.pause();
    if (this.#isOver) answer.destroy();
    return new Promise((resolve) => {
      let failure: Error | undefined;
      answer.on('error', (error) => (failure = error));
      answer.once('close', () => {
        this.#stream = undefined;
        const at = now();
        if (told !== undefined) resolve(told);
        else if (answer.complete) resolve({ type: 'closed', at });
        else if (this.#isOver) resolve({ type: 'live', at });
        else if (failure?.message === 'cut by the client') resolve({ type: 'cancelled', at });
        else resolve({ type: 'broken', at, error: failure?.message ?? 'the connection was lost' });
      });
    });
  }

  #recordOf(event: Exclude<WireEvent, { type: 'ERROR' }>, received: number): WatchEventRecord {
    if (event.type !== 'BOOKMARK')
      return { type: event.type, object: observedObject(this.#options.model, event.object), received };
    const { resourceVersion, annotations = {} } = event.object.metadata;
    return {
      type: 'BOOKMARK',
      revision: Number(resourceVersion),
      received,
      ...(annotations[initialEnd] === 'true' ? { initialEnd: true } : {}),
    };
  }
}

/** Undefined for a heartbeat, and for lines of an event stream without data. */
function eventIn(line: string): WireEvent | undefined {
  const text = line.startsWith('data:') ? line.slice('data:'.length) : line;
  const trimmed = text.trim();
  return trimmed.startsWith('{') ? (JSON.parse(trimmed) as WireEvent) : undefined;
}

function endOfError({ code, reason, message }: { code: number; reason: string; message?: string }): StreamEnd {
  return {
    type: code === 410 ? 'expired' : 'failed',
    at: now(),
    status: code,
    reason,
    ...(message === undefined ? {} : { message }),
  };
}

async function wholeAnswer(answer: IncomingMessage): Promise<ApiAnswer> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of answer) pieces.push(piece as Buffer);
  } catch (error) {
    throw new NoAnswer({ message: (error as Error).message });
  }
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(pieces).toString() };
}

function endOf(answer: ApiAnswer): StreamEnd {
  const { status, reason, message, tooLarge } = refusalOf(answer);
  return {
    type: status === 410 ? 'expired' : 'refused',
    at: now(),
    status,
    reason,
    ...(message === undefined ? {} : { message }),
    ...(tooLarge === undefined ? {} : { tooLarge }),
  };
}
