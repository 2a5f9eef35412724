import {
  newServiceUnavailable,
  type AnyObject,
  type ClientEvent,
  type EventStream,
  type ListOptions,
  type ObjectList,
  type Reader,
  type ResourceType,
  type Stored,
  type Watcher,
  type WatchOptions,
} from '#pkg/apimachinery/index';

/**
 * The events of a watch before it ends, normally or with the error; with `open` it does not end, and with `refusal` it
 * does not start.
 */
export interface ScriptedWatch {
  events?: readonly ClientEvent<AnyObject>[];
  end?: 'open' | Error;
  refusal?: Error;
}

/**
 * An API for tests that answers lists and watches in the order of a script; after the last one the API is unreachable.
 */
export class ScriptedApi {
  /**
   * The requests: the start revision of each watch, `list` for each list, `list after` with its token for a continued
   * one.
   */
  readonly asked: string[] = [];
  /** Watches that are not closed. */
  open = 0;
  readonly #lists: ObjectList<AnyObject>[];
  readonly #watches: ScriptedWatch[];

  constructor({
    lists = [],
    watches = [],
  }: {
    lists?: readonly ObjectList<AnyObject>[];
    watches?: readonly ScriptedWatch[];
  }) {
    this.#lists = [...lists];
    this.#watches = [...watches];
  }

  get client(): Reader & Watcher {
    const list = (_type: ResourceType, { continue: token }: ListOptions = {}): Promise<ObjectList<AnyObject>> => {
      this.asked.push(token === undefined ? 'list' : `list after ${token}`);
      const next = this.#lists.shift();
      return next === undefined ? Promise.reject(newServiceUnavailable('no list is left')) : Promise.resolve(next);
    };
    const watch = (_type: ResourceType, { resourceVersion, signal }: WatchOptions): Promise<EventStream<AnyObject>> => {
      this.asked.push(resourceVersion);
      const next = this.#watches.shift();
      if (next === undefined) return Promise.reject(newServiceUnavailable('no watch is left'));
      return next.refusal === undefined ? Promise.resolve(this.#stream(next, signal)) : Promise.reject(next.refusal);
    };
    return { get: () => Promise.reject(new Error('not asked')), list, watch } as unknown as Reader & Watcher;
  }

  #stream({ events = [], end }: ScriptedWatch, signal: AbortSignal | undefined): EventStream<AnyObject> {
    this.open += 1;
    let isOpen = true;
    return {
      async *[Symbol.asyncIterator]() {
        yield* events;
        if (end instanceof Error) throw end;
        if (end === 'open' && signal?.aborted !== true)
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      },
      close: () => {
        if (isOpen) this.open -= 1;
        isOpen = false;
      },
    };
  }
}

/** An object of that name, as stored at that revision. */
export function scriptedObject(name: string, resourceVersion: number, uid = name): Stored<AnyObject> {
  return {
    apiVersion: 'v1',
    kind: 'Note',
    metadata: { name, uid, resourceVersion: String(resourceVersion) },
  } as Stored<AnyObject>;
}

export const scriptedType: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Note',
  plural: 'notes',
  namespaced: false,
  hasStatusSubresource: false,
};
