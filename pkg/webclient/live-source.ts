import type {
  AnyObject,
  ClientEvent,
  IndexTypes,
  ObjectList,
  ResourceType,
  StatusError,
  WhereSelection,
} from '#pkg/apimachinery/index';

/** Gets the changes of one selection. */
export interface ChangeSink<T extends AnyObject> {
  /** Every change arrives. May be called again and again. */
  live(): void;
  take(events: readonly ClientEvent<T>[]): void;
  /** The connection has ended, and is opened again. `isStale`: the server was silent, or could not be reached. */
  behind(isStale: boolean, failure?: StatusError): void;
}

/** The requests of one selection. */
export interface LiveSource<T extends AnyObject> {
  /** After a silence of so long changes may be missing. Milliseconds. */
  readonly maxSilenceMs: number;
  /** `onSilence` is called where the answer takes longer than `maxSilenceMs`; it goes on trying. */
  list(signal: AbortSignal, onSilence: () => void): Promise<ObjectList<T>>;
  /** Tells `sink` the changes after `since`, until they end. @throws StatusError: 410 means to list again */
  follow(since: string, sink: ChangeSink<T>, signal: AbortSignal): Promise<void>;
}

/** Whose requests a page sends: a session of the browser. */
export interface BrowserSession {
  /** Of the API; empty: the origin of the script that asks. */
  url: string;
  csrfToken: string;
}

/** What is kept up to date: objects of a resource, or only their changes. */
export interface FeedSelection {
  resource: {
    readonly model: ResourceType;
    readonly namespace: string;
    readonly connection: { readonly browserSession: BrowserSession | undefined };
  };
  query: WhereSelection<IndexTypes> & { omitManagedFields?: boolean };
  hasObjects: boolean;
}

/** Keeps selections up to date for this page, elsewhere. */
export interface FeedProvider {
  /** `own`: how the page does it by itself, for when the provider cannot. */
  sourceOf<T extends AnyObject>(selection: FeedSelection, own: LiveSource<T>): LiveSource<T>;
}
