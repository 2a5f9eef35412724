import type { History, Instant, LogRow, Operation, OperationId } from '../../history.ts';
import type { Bound, Source } from '../log/commit-times.ts';
import type { Change } from '../log/replayed-log.ts';

/** Formats records as text; times are seconds since the start of the run. */
export class Narrator {
  readonly #origin: Instant;
  readonly #faults: History['faults'];

  constructor({ faults, modelChanges, watchers }: History) {
    this.#faults = faults;
    const starts = [
      ...modelChanges.map(({ requested }) => requested),
      ...faults.map(({ started }) => started),
      ...watchers.flatMap(({ streams }) => streams[0]?.opened ?? []),
    ];
    this.#origin = starts.reduce((a, b) => Math.min(a, b), Infinity);
  }

  time(at: Instant): string {
    return Number.isFinite(at)
      ? `${((at - (Number.isFinite(this.#origin) ? this.#origin : 0)) / 1000).toFixed(4)} s`
      : 'an unknown time';
  }

  /** "client 3 #17 (update posts.x ns/name on replica-a, 1.2 s to 1.3 s, while ...)" */
  operation(operation: Operation): string {
    const { verb, model, namespace, replica, invoked, completed } = operation;
    const what = 'name' in operation ? `${namespace}/${operation.name}` : `${namespace}/*`;
    return `${nameOf(operation)} (${verb} ${model} ${what} on ${replica}, ${this.time(invoked)} to ${this.time(completed)}${this.during(invoked, completed)})`;
  }

  row({ type, revision, namespace, name }: LogRow): string {
    return `${type}${revision} of ${namespace}/${name}`;
  }

  change(change: Change | undefined): string {
    return change === undefined ? 'nothing' : this.row(change.row);
  }

  bound({ at, source }: Bound): string {
    return `${source === undefined ? 'the log' : this.#source(source)} at ${this.time(at)}`;
  }

  #source(source: Source): string {
    if ('stream' in source) return `watcher ${source.watcher.id} on ${source.stream.replica}`;
    return 'verb' in source ? this.operation(source) : 'the SQL reader of the log';
  }

  during(from: Instant, to: Instant): string {
    const names = this.#faults
      .filter(({ started, ended = started }) => started <= to && ended >= from - 1000)
      .map(({ name }) => name);
    return names.length === 0 ? '' : `, while ${names.join(', ')}`;
  }
}

export function nameOf({ client, seq }: OperationId): string {
  return `client ${client} #${seq}`;
}
