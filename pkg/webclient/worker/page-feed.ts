import {
  newExpired,
  newServiceUnavailable,
  statusErrorFrom,
  type AnyObject,
  type ObjectList,
  type StatusError,
  type Stored,
} from '#pkg/apimachinery/index';
import type { ChangeSink } from '../live-source.ts';
import type { FeedState, FeedUpdate } from './messages.ts';

/** One selection of a page that its worker keeps up to date: a list, then its changes. */
export class PageFeed<T extends AnyObject> {
  /** Rejects with StatusError if the worker cannot list. */
  readonly list: Promise<ObjectList<T>>;
  #resolveList!: (list: ObjectList<T>) => void;
  #rejectList!: (reason: unknown) => void;
  /** Until it is listed. */
  #items: Stored<T>[] | undefined = [];
  /** Between the list and `follow`. */
  #early: FeedUpdate[] = [];
  #follower: { sink: ChangeSink<T>; resolve: () => void; reject: (failure: StatusError) => void } | undefined;
  #isLost = false;
  readonly #isCurrent: () => boolean;
  readonly #end = new AbortController();

  /** `isCurrent`: does the page still have the session that it is asked for? */
  constructor(isCurrent: () => boolean) {
    this.#isCurrent = isCurrent;
    this.list = new Promise((resolve, reject) => {
      this.#resolveList = resolve;
      this.#rejectList = reject;
    });
  }

  /** Aborts once nothing of it is needed any more. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Resolves when it is closed. @throws StatusError 410 where the list is needed anew */
  follow(sink: ChangeSink<T>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#follower = { sink, resolve, reject };
      for (const update of this.#early) this.receive(update);
      this.#early = [];
      if (this.#isLost) this.lose();
    });
  }

  receive(update: FeedUpdate): void {
    const { items = [], resourceVersion, events = [], state, isExpired = false } = update;
    if (isExpired || !this.#isCurrent()) return this.lose();
    if (this.#items !== undefined) {
      this.#items.push(...(items as Stored<T>[]));
      if (resourceVersion !== undefined) {
        this.#resolveList({ items: this.#items, resourceVersion });
        this.#items = undefined;
      } else if (state?.name === 'stale') {
        return this.#fail(failureOf(state) ?? newServiceUnavailable('the server was silent'));
      }
    }
    if (this.#follower === undefined) {
      if (events.length > 0 || state !== undefined) this.#early.push({ ...update, items: [] });
      return;
    }
    const { sink } = this.#follower;
    if (events.length > 0) sink.take(events as Parameters<ChangeSink<T>['take']>[0]);
    if (state?.name === 'live') sink.live();
    else if (state?.name === 'stale') sink.behind(true, failureOf(state));
    else if (state?.name === 'catching up') sink.behind(false);
  }

  /** The worker has not kept it, or was silent, so that changes may be missing, or the session is another one. */
  lose(wasSilent = false): void {
    const failure = newExpired('the worker has to be asked anew');
    this.#isLost = true;
    this.#fail(wasSilent ? newServiceUnavailable('the worker was silent') : failure);
    this.#follower?.sink.behind(wasSilent);
    this.#follower?.reject(failure);
  }

  #fail(reason: StatusError): void {
    this.#end.abort();
    this.#rejectList(reason);
  }

  close(reason: unknown): void {
    this.#rejectList(reason);
    this.#follower?.resolve();
  }
}

function failureOf({ failure }: FeedState): StatusError | undefined {
  return failure === undefined ? undefined : statusErrorFrom(failure);
}
