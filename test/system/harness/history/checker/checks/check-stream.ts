import type { WatcherRecord, WatchEventRecord, WatchStreamRecord } from '../../history.ts';
import { eventDifference, expectedEvent, type ExpectedEvent } from './event-expectation.ts';
import type { Examination } from '../examination/examination.ts';
import { lastWhere, type Change } from '../log/replayed-log.ts';
import { matcherOf, type Matcher } from '../log/object-match.ts';
import type { Rule } from '../examination/violation.ts';

type ObjectEvent = Exclude<WatchEventRecord, { type: 'BOOKMARK' }>;

/** A watcher with its model's part of the log. */
export interface Watching {
  watcher: WatcherRecord;
  matches: Matcher;
  changes: readonly Change[];
}

export function watchingOf({ log }: Examination, watcher: WatcherRecord): Watching {
  return { watcher, matches: matcherOf(watcher.selector), changes: log.byModel.get(watcher.model) ?? [] };
}

/** Follows a stream along the log: every event must match its change, and every change must have its event. */
export class StreamCheck {
  readonly #run: Examination;
  readonly #watching: Watching;
  readonly #stream: WatchStreamRecord;
  /** The initial objects of a stream with sendInitialEvents. */
  readonly initial: ObjectEvent[] = [];
  /** The start revision; undefined until the snapshot is known. */
  #began: number | undefined;
  /** Every matching change up to here must have been reported. */
  position = 0;
  #next = 0;
  #lastEvent = 0;
  #lastBookmark = 0;

  constructor(run: Examination, watching: Watching, stream: WatchStreamRecord) {
    this.#run = run;
    this.#watching = watching;
    this.#stream = stream;
    if (stream.start.type === 'revision') this.#begin(stream.start.revision);
  }

  /** The revision of the initial snapshot. */
  get snapshot(): number | undefined {
    return this.#stream.start.type === 'objects' ? this.#began : undefined;
  }

  get hasBegun(): boolean {
    return this.#began !== undefined;
  }

  take(event: WatchEventRecord): void {
    if (event.type === 'BOOKMARK') this.#bookmark(event);
    else if (this.#began === undefined) this.initial.push(event);
    else this.#event(event);
  }

  /** From now on no change up to here may be missing. */
  demand(revision: number, rule: Rule = 'watch-gap'): void {
    for (; this.#next < this.#watching.changes.length; this.#next += 1) {
      const change = this.#watching.changes[this.#next]!;
      if (change.row.revision > revision) break;
      if (this.#expected(change) !== undefined) this.#missed(change, revision, rule);
    }
  }

  #begin(revision: number): void {
    const { changes } = this.#watching;
    this.#began = revision;
    this.position = revision;
    this.#next = lastWhere(changes.length, (index) => changes[index]!.row.revision <= revision) + 1;
  }

  #bookmark(event: WatchEventRecord & { type: 'BOOKMARK' }): void {
    this.#run.statistics.add('bookmarks');
    if (this.#began === undefined) {
      if (event.initialEnd === true) this.#begin(event.revision);
      else this.report('watch-start', `a bookmark at ${event.revision} before the end of the objects`, [event]);
      return;
    }
    if (event.revision < this.position)
      this.report('watch-bookmark', `a bookmark at ${event.revision} after ${this.position}`, [event]);
    this.demand(event.revision, 'watch-bookmark');
    this.#lastBookmark = Math.max(this.#lastBookmark, event.revision);
    this.position = Math.max(this.position, event.revision);
  }

  #event(event: ObjectEvent): void {
    const { revision } = event.object;
    this.#run.statistics.add(`events ${event.type}`);
    if (revision <= this.position) return this.#backward(event);
    this.demand(revision - 1);
    this.position = revision;
    this.#lastEvent = revision;
    const change = this.#watching.changes[this.#next];
    if (change?.row.revision !== revision)
      return this.report(
        'watch-event',
        `${event.type} ${event.object.name} at ${revision}, which is no change of this model`,
        [event],
      );
    this.#next += 1;
    const expected = this.#expected(change);
    if (expected === undefined)
      return this.report(
        'watch-selector',
        `${event.type} of ${this.#run.narrator.change(change)}, which is not in its selection`,
        [event, change.row],
      );
    const wrong = eventDifference(expected, change, event);
    if (wrong !== undefined)
      this.report('watch-event', `${event.type} of ${this.#run.narrator.change(change)}: ${wrong}`, [
        event,
        change.row,
      ]);
    if (expected.type !== 'MODIFIED' && change.row.type === 'U')
      this.#run.statistics.add(`events of a selection ${expected.type === 'ADDED' ? 'entered' : 'left'}`);
    this.#run.statistics.max('longest delay of an event, ms', Math.round(event.received - change.row.recorded));
  }

  #backward(event: ObjectEvent): void {
    const { revision } = event.object;
    if (revision <= this.#lastEvent)
      this.report('watch-order', `${event.type} at ${revision} after ${this.#lastEvent}`, [event]);
    else if (revision <= this.#lastBookmark)
      this.report('watch-bookmark', `${event.type} at ${revision} after a bookmark at ${this.#lastBookmark}`, [event]);
    else this.report('watch-order', `${event.type} at ${revision}, though it began after ${this.#began}`, [event]);
  }

  #expected(change: Change): ExpectedEvent | undefined {
    return expectedEvent(change, this.#watching.watcher.namespace, this.#watching.matches);
  }

  #missed(change: Change, revision: number, rule: Rule): void {
    const { narrator } = this.#run;
    const what = rule === 'watch-behind' ? 'the end of the run' : String(revision);
    this.report(
      rule,
      `nothing of ${narrator.change(change)}, seen in the log at ${narrator.time(change.row.recorded)}, up to ${what}`,
      [change.row],
    );
  }

  report(rule: Rule, text: string, records: unknown[]): void {
    const { narrator, violations } = this.#run;
    const { watcher, stream } = { watcher: this.#watching.watcher, stream: this.#stream };
    const from = stream.start.type === 'revision' ? `from ${stream.start.revision}` : 'from the present objects';
    violations.report(rule, () => ({
      text: `watcher ${watcher.id} of ${watcher.model} (${JSON.stringify(watcher.selector)}), ${from} on ${stream.replica}, ${narrator.time(stream.opened)} to ${narrator.time(stream.ended.at)}${narrator.during(stream.opened, stream.ended.at)}, was told ${text}`,
      records,
    }));
  }
}
