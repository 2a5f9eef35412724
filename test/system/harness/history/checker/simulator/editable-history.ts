import type {
  DeleteOperation,
  FinalState,
  GetOperation,
  History,
  LogRow,
  ObjectState,
  ObservedObject,
  Operation,
  WatcherRecord,
  WatchEventRecord,
  WatchStreamRecord,
  WriteOperation,
} from '../../history.ts';
import type { SeededRandom } from '../../../seeded-random.ts';

export type ObjectEvent = Exclude<WatchEventRecord, { type: 'BOOKMARK' }>;

export interface EditableStream {
  watcher: WatcherRecord;
  stream: WatchStreamRecord;
  events: WatchEventRecord[];
}

/** A deep copy of a history, to plant a fault in. */
export class EditableHistory {
  readonly history: History;
  readonly operations: Operation[];
  readonly log: LogRow[];
  readonly finalStates: FinalState[];
  readonly streams: EditableStream[];
  readonly #random: SeededRandom;

  /** @param text A history as JSON. */
  constructor(text: string, random: SeededRandom) {
    const copy = JSON.parse(text) as History & { operations: Operation[]; log: LogRow[] };
    this.history = copy;
    this.operations = copy.operations;
    this.log = copy.log;
    this.finalStates = copy.finalStates;
    this.streams = copy.watchers.flatMap((watcher) =>
      watcher.streams.map((stream) => ({ watcher, stream, events: stream.events as WatchEventRecord[] })),
    );
    this.#random = random;
  }

  /** A random item; undefined if there is none. */
  any<T>(items: readonly T[]): T | undefined {
    return items[this.#random.below(items.length)];
  }

  anyOperation<T extends Operation>(
    is: (operation: Operation) => operation is T,
    more: (operation: T) => boolean = () => true,
  ): T | undefined {
    return this.any(this.operations.filter(is).filter(more));
  }

  /** A successful write. */
  acknowledged(): WriteOperation | undefined {
    return this.anyOperation(isWrite, ({ outcome }) => outcome.type === 'ok');
  }

  rowOfAcknowledged(): LogRow | undefined {
    const operation = this.acknowledged();
    return operation && this.rowOf(operation);
  }

  acknowledgedDelete(): DeleteOperation | undefined {
    return this.anyOperation(isDelete, ({ outcome }) => outcome.type === 'ok');
  }

  replace(old: Operation, operation: Operation): void {
    this.operations[this.operations.indexOf(old)] = operation;
  }

  rowOf(operation: WriteOperation): LogRow | undefined {
    return this.log.find((row) => row.type !== 'D' && row.new?.marker === operation.sent.marker);
  }

  /** The operation that made a row; undefined for deletions. */
  makerOf(row: LogRow): WriteOperation | undefined {
    return this.operations
      .filter(isWrite)
      .find((operation) => row.type !== 'D' && operation.sent.marker === row.new?.marker);
  }

  rowsOf(namespace: string, name: string): LogRow[] {
    return this.log.filter((row) => row.new !== null && row.namespace === namespace && row.name === name);
  }

  rowAt(revision: number): LogRow | undefined {
    return this.log.find((row) => row.revision === revision);
  }

  /** Events of one stream about objects, with their positions. */
  placed({ events }: EditableStream): { at: number; event: ObjectEvent }[] {
    return events.flatMap((event, at) => (event.type === 'BOOKMARK' ? [] : [{ at, event }]));
  }

  /** Streams that resume from a revision: their events are in order from the start. */
  continued(): EditableStream[] {
    return this.streams.filter(({ stream }) => stream.start.type === 'revision');
  }

  /** A GET during which its object did not change, and which returned a long-standing state. */
  quietGet(): GetOperation | undefined {
    return this.anyOperation(isGet, (operation) => {
      if (operation.outcome.type !== 'ok') return false;
      const { revision } = operation.outcome.object;
      const rows = this.rowsOf(operation.namespace, operation.name);
      return (
        rows.at(-1)?.revision === revision &&
        rows.at(-1)!.recorded < operation.invoked &&
        !this.history.modelChanges.some(({ type }) => type === 'drop')
      );
    });
  }
}

export function isWrite(operation: Operation): operation is WriteOperation {
  return operation.verb === 'create' || operation.verb === 'update' || operation.verb === 'patch';
}

export function isDelete(operation: Operation): operation is DeleteOperation {
  return operation.verb === 'delete';
}

export function isGet(operation: Operation): operation is GetOperation {
  return operation.verb === 'get';
}

/** A row's object as clients see it. */
export function objectOf({ namespace, name, revision }: LogRow, state: ObjectState): ObservedObject {
  return { ...state, namespace, name, revision };
}
