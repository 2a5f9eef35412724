import type { JsonObject, JsonValue, ObjectKey, ObjectMeta } from '../meta/object.ts';
import type { WatchEventType } from '../watch/watch-event.ts';
import type { AnyObject, ResourceType } from './resource-type.ts';

/** An object that the server has given: what it sets is there. */
export type Stored<T extends AnyObject> = T & {
  metadata: ObjectMeta & { uid: string; resourceVersion: string; creationTimestamp: string };
};

export interface RequestOptions {
  /**
   * Ends the wait, not what the server may already be doing: with its reason where that is a StatusError, else with a
   * 504.
   */
  signal?: AbortSignal;
}

export interface WriteOptions extends RequestOptions {
  /** The write holds only while this lease has not passed to another: 409 Conflict afterwards. */
  fence?: Fence;
  dryRun?: boolean;
  /** Default Warn; warnings go to the client's log. */
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
}

/** A leader's fencing token: the lease it holds, and the number of lease transitions when it acquired the lease. */
export interface Fence {
  namespace: string;
  lease: string;
  transitions: number;
}

export interface DeleteOptions extends WriteOptions {
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
}

export interface Selection {
  /** Absent: all namespaces. Of a cluster-scoped type: leave it out. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

export interface ListOptions extends Selection, RequestOptions {
  /** `spec.slug` or `spec.slug,desc`, in order of priority. */
  sort?: readonly string[];
  /** At most so many; without it, everything. */
  limit?: number;
  /** Of the list before, with the same selection, sort and limit. */
  continue?: string;
}

export interface ObjectList<T extends AnyObject> {
  /** A watch from here sees every later change. */
  resourceVersion: string;
  items: Stored<T>[];
  /** There is more. */
  continue?: string;
}

export interface WatchOptions extends Selection, RequestOptions {
  /** Every change after this one; from a list, an object, or an event before. 410 Expired if it is no longer kept. */
  resourceVersion: string;
}

export type ClientEvent<T extends AnyObject> =
  | { type: Exclude<WatchEventType, 'BOOKMARK' | 'ERROR'>; object: Stored<T> }
  /** Everything up to here has been told. */
  | { type: 'BOOKMARK'; resourceVersion: string };

/**
 * Events in the order of their revisions, to be read by one reader. It ends without an error when the server ends the
 * stream, when the connection breaks, or when the reader was too slow (watch again from the last revision), and throws
 * the server's StatusError otherwise. Leaving the loop, `close` or the signal of its watch stops it, without an error.
 */
export interface EventStream<T extends AnyObject> extends AsyncIterable<ClientEvent<T>> {
  close(): void;
}

/** What was deleted; `object` only where finalizers still hold it. */
export interface Deletion<T extends AnyObject> {
  uid: string;
  object?: Stored<T>;
}

export type Patch = { type: 'merge'; patch: JsonObject } | { type: 'json'; patch: JsonValue[] };

export interface Reader {
  /** 404 NotFound if there is none. */
  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: RequestOptions): Promise<Stored<T>>;
  list<T extends AnyObject>(type: ResourceType<T>, options?: ListOptions): Promise<ObjectList<T>>;
}

export interface Writer {
  /** 409 AlreadyExists if the name is taken. */
  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>>;
  /** With a resourceVersion in the object: 409 Conflict if it is not the newest. */
  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>>;
  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>>;
  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>>;
}

/** Writes status and nothing else; of types that have the subresource. */
export interface StatusWriter {
  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>>;
  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>>;
}

export interface Watcher {
  /**
   * Resolves when the server has accepted. What it refuses later, an expired revision over HTTP, the first read of the
   * stream throws.
   */
  watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>>;
}

/**
 * The API over any transport: within the process, over HTTP, or over a worker's port. Every failure is a
 * StatusError, as the server gave it; one that never reached the server is 503 ServiceUnavailable.
 */
export interface Client extends Reader, Writer, StatusWriter, Watcher {}
