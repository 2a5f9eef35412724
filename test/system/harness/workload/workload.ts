import type { SelectorRecord } from '../history/history.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { RecordingClient, type Target } from './recording-client.ts';
import { OperationLog } from './operation-log.ts';
import { Reader } from './reader.ts';
import { fleeting, notes, things, type SampleModel } from './sample-models.ts';
import { Watcher } from './watcher.ts';
import { Writer } from './writer.ts';

const defaultWriters = 8;
const defaultReaders = 3;
/** Client numbers of each kind. */
const firstReader = 101;
const firstWatcher = 201;
/** For requests about models. */
const operatorId = 299;
const everything: SelectorRecord = { labels: [], fields: [] };

/** The selection of each watcher. */
const watched: readonly { model: SampleModel; namespace?: string; selector?: SelectorRecord; asEventStream?: true }[] =
  [
    { model: things },
    { model: things, namespace: 'default', asEventStream: true },
    { model: things, selector: { labels: [{ key: 'team', operator: 'in', values: ['a', 'b'] }], fields: [] } },
    {
      model: things,
      selector: {
        labels: [{ key: 'flag', operator: 'absent' }],
        fields: [{ field: 'spec.priority', operator: '>=', value: 5 }],
      },
    },
    {
      model: things,
      namespace: 'second',
      selector: {
        labels: [],
        fields: [
          { field: 'spec.tags', operator: 'in', values: ['red', 'blue'] },
          { field: 'spec.category', operator: 'notIn', values: ['c-1'] },
        ],
      },
    },
    { model: notes },
    {
      model: notes,
      selector: {
        labels: [{ key: 'team', operator: 'exists' }],
        fields: [{ field: 'spec.category', operator: 'prefix', value: 'c-' }],
      },
      asEventStream: true,
    },
    { model: fleeting },
  ];

export interface WorkloadOptions {
  targets: readonly [Target, ...Target[]];
  token: string;
  random: SeededRandom;
  /** At most 100 of each; default 8 and 3. */
  writers?: number;
  readers?: number;
}

/** All clients of the servers. */
export class Workload {
  readonly operationLog = new OperationLog();
  readonly operator: RecordingClient;
  readonly writers: readonly Writer[];
  readonly readers: readonly Reader[];
  readonly watchers: readonly Watcher[];
  readonly #clients: RecordingClient[] = [];

  constructor({ targets, token, random, writers = defaultWriters, readers = defaultReaders }: WorkloadOptions) {
    const { operationLog } = this;
    const client = (id: number): RecordingClient => {
      const made = new RecordingClient({ id, targets, token, random: random.fork(`client ${id}`), operationLog });
      this.#clients.push(made);
      return made;
    };
    this.operator = client(operatorId);
    this.writers = Array.from({ length: writers }, (_, i) => new Writer(client(i + 1)));
    this.readers = Array.from({ length: readers }, (_, i) => new Reader(client(firstReader + i)));
    this.watchers = watched.map(
      ({ model, namespace = '', selector = everything, asEventStream }, i) =>
        new Watcher({
          client: client(firstWatcher + i),
          model,
          namespace,
          selector,
          ...(asEventStream === undefined ? {} : { asEventStream }),
        }),
    );
  }

  start(): void {
    for (const one of [...this.watchers, ...this.writers, ...this.readers]) one.start();
  }

  /** Resolves when only watchers have running requests. */
  async settle(): Promise<void> {
    await Promise.all([...this.writers, ...this.readers].map((one) => one.stop()));
  }

  async stop(): Promise<void> {
    await this.settle();
    await Promise.all(this.watchers.map((watcher) => watcher.stop()));
    for (const { api } of this.#clients) api.close();
  }
}
