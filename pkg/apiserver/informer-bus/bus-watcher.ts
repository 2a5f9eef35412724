import { compileSelector, isStatusError, KeyNotComputed, type Selector } from '#pkg/apimachinery/index';
import type { Change } from '#pkg/storage/index';
import type { WatchSink, WatchStream } from '../rest/served-resource.ts';
import { ChangeEvent, type BodyReader } from './change-event.ts';
import type { WatchGroup } from './watch-group.ts';

export interface BusWatcherOptions {
  after: number;
  reader: BodyReader;
  filter: (event: ChangeEvent) => FilteredEvent | undefined;
  sink: WatchSink;
  group: WatchGroup;
  onSinkError: (error: unknown) => void;
}

/** One watch: filters events, sends them to its sink, and tracks its position. */
export class BusWatcher implements WatchStream {
  readonly #options: BusWatcherOptions;
  #position: number;
  #over = false;
  #liveCursor: (() => number) | undefined;
  readonly #detachers: (() => void)[] = [];

  constructor(options: BusWatcherOptions) {
    this.#options = options;
    this.#position = options.after;
    this.#detachers.push(options.group.add(this));
  }

  get cursor(): number {
    // An event may end the watch before the rest of its batch is delivered: the cursor is then at that event.
    return Math.max(this.#position, this.#liveCursor?.() ?? 0);
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** Continues with live changes; from now on `cursor` follows them. */
  attach(liveCursor: () => number, detach: () => void): void {
    this.#liveCursor = liveCursor;
    this.#detachers.push(detach);
  }

  /** Replays history, in order, up to `upTo`. @throws KeyNotComputed; the cursor is then at the change that lacks it */
  replay(changes: readonly Change[], upTo: number): void {
    for (const change of changes) this.take(new ChangeEvent(change));
    this.#position = Math.max(this.#position, upTo);
  }

  /** @throws KeyNotComputed before it is attached: the history lacks the key and will never have it. */
  take(event: ChangeEvent): void {
    if (this.#over) return;
    const before = this.cursor;
    this.#position = Math.max(this.#position, event.change.revision);
    const { filter, reader, sink, onSinkError } = this.#options;
    try {
      const filtered = filter(event);
      if (filtered !== undefined)
        sink.event(filtered.type, filtered.state === 'current' ? event.current(reader) : event.previous(reader));
    } catch (error) {
      if (error instanceof KeyNotComputed && this.#liveCursor === undefined) throw error;
      // The client has not got this event: it resumes before it.
      this.#position = before;
      if (error instanceof KeyNotComputed) {
        // The index is being rebuilt, or another release wrote the change.
        this.end('the definition of this resource was changed');
        return;
      }
      // A failing watcher must not block the others.
      onSinkError(error);
      if (isStatusError(error)) this.#end((ended) => ended.fail(error));
      else this.end('the event could not be delivered');
    }
  }

  end(reason: string): void {
    this.#end((sink) => sink.end(reason));
  }

  #end(tell: (sink: WatchSink) => void): void {
    if (this.#over) return;
    this.stop();
    try {
      tell(this.#options.sink);
    } catch (error) {
      this.#options.onSinkError(error);
    }
  }

  stop(): void {
    if (this.#over) return;
    this.#position = this.cursor;
    this.#liveCursor = undefined;
    this.#over = true;
    for (const detach of this.#detachers.splice(0)) detach();
  }
}

/** A change as one watcher sees it; `state` is the state of the object that is sent. */
export type FilteredEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; state: 'current' | 'previous' };

/**
 * Compiles the filter of a watch with this namespace and selector. An object that starts to match is ADDED; one that
 * stops to match is DELETED in its last matching state; a deleted one is sent in its final state. Without a selector
 * nothing is parsed. The filter throws KeyNotComputed if the selector needs a key that was not computed at the time of
 * the change. Source: k8s.io/apiserver, watch cache.
 */
export function compileEventFilter(
  namespace: string | undefined,
  selector: Selector,
): (event: ChangeEvent) => FilteredEvent | undefined {
  const names = wantedNames(selector);
  const matches = selector.labels.length + selector.fields.length === 0 ? undefined : compileSelector(selector);
  return (event) => {
    const { change } = event;
    if (namespace !== undefined && namespace !== '' && change.namespace !== namespace) return undefined;
    // A name never changes, so most watches of a single object need not parse the others.
    if (names !== undefined && !names.has(change.name)) return undefined;
    if (matches === undefined) return { type: eventTypes[change.type], state: 'current' };
    return transition(event, matches);
  };
}

const eventTypes = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const;

function transition(event: ChangeEvent, matches: ReturnType<typeof compileSelector>): FilteredEvent | undefined {
  const old = event.parsedOld();
  const before = old !== undefined && matches(old, event.oldKeys());
  if (event.change.type === 'delete') return before ? { type: 'DELETED', state: 'current' } : undefined;
  const after = matches(event.parsed(), event.keys());
  if (after) return { type: before ? 'MODIFIED' : 'ADDED', state: 'current' };
  return before ? { type: 'DELETED', state: 'previous' } : undefined;
}

function wantedNames({ fields }: Selector): ReadonlySet<unknown> | undefined {
  const clause = fields.find(({ index, operator }) => index.name === 'metadata.name' && operator === 'In');
  return clause?.operator === 'In' ? new Set<unknown>(clause.values) : undefined;
}
