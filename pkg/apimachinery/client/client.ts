import type { JsonObject, JsonValue, ObjectKey, ObjectMeta } from '../meta/object.ts';
import type { WatchEventType } from '../watch/watch-event.ts';
import type { ApplyConfiguration } from './apply-configuration.ts';
import type { AnyObject, ResourceType } from './resource-type.ts';

/** An object from the server: the fields that the server sets are present. */
export type Stored<T extends AnyObject> = T & {
  metadata: ObjectMeta & { uid: string; resourceVersion: string; creationTimestamp: string };
};

export interface RequestOptions {
  /**
   * Ends the wait, but not what the server may already be doing. Rejects with its reason if that is a StatusError, else
   * with a 504.
   */
  signal?: AbortSignal;
}

export interface WriteOptions extends RequestOptions {
  /** The write is refused with 409 Conflict once this lease has passed to another holder. */
  fence?: Fence;
  dryRun?: boolean;
  /** Default Warn; warnings go to the client's log. */
  fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  /**
   * Who sets the fields, as `metadata.managedFields` names it: printable characters, at most 128 bytes. Default: that of
   * the client. A controller's client has the name of the controller, within a plugin `PLUGIN/CONTROLLER`; a plugin's
   * other client has the plugin's name, any other client `svc`. A deletion sets none.
   */
  fieldManager?: string;
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields over that other managers own. Default false: an ApplyConflict that names them. */
  force?: boolean;
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
  /** Absent: all namespaces. Omit it for a cluster-scoped type. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** The form of the objects that a list or a watch returns. */
export interface ReadOptions {
  /** Leaves out `metadata.managedFields`, which may be as long as the rest. Default false. */
  omitManagedFields?: boolean;
}

export interface ListOptions extends Selection, ReadOptions, RequestOptions {
  /** `spec.slug` or `spec.slug,desc`, in order of priority. */
  sort?: readonly string[];
  /** Maximum number of items; default: all. */
  limit?: number;
  /** From the previous list, with the same selection, sort and limit. */
  continue?: string;
}

export interface ObjectList<T extends AnyObject> {
  /** A watch from this revision sees every later change. */
  resourceVersion: string;
  items: Stored<T>[];
  /** Set if there are more items. */
  continue?: string;
}

export interface WatchOptions extends Selection, ReadOptions, RequestOptions {
  /**
   * Every change after this one; from a list, an object, or a previous event. 410 Expired if the server no longer keeps
   * it.
   */
  resourceVersion: string;
}

export type ClientEvent<T extends AnyObject> =
  | { type: Exclude<WatchEventType, 'BOOKMARK' | 'ERROR'>; object: Stored<T> }
  /** Every event up to this revision has been sent. */
  | { type: 'BOOKMARK'; resourceVersion: string };

/**
 * Events in order of revision, for one reader. It ends without an error when the server ends the stream, the connection
 * breaks, or the reader was too slow (watch again from the last revision). It throws any other StatusError of the
 * server. Leaving the loop, `close` or the signal of its watch stops it without an error.
 */
export interface EventStream<T extends AnyObject> extends AsyncIterable<ClientEvent<T>> {
  close(): void;
}

/** The deleted object's uid; `object` only if finalizers still hold it. */
export interface Deletion<T extends AnyObject> {
  uid: string;
  object?: Stored<T>;
}

/** `strategic` merges lists by their keys: only built-in kinds know them, the others answer 415. */
export type Patch =
  | { type: 'merge'; patch: JsonObject }
  | { type: 'json'; patch: JsonValue[] }
  | { type: 'strategic'; patch: JsonObject };

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
  /**
   * Server-side apply: gives the object the fields of the configuration, removes those that this field manager applied
   * before and now leaves out, and keeps the rest. Creates an object that does not exist. Writes nothing if the object
   * is like that already. Needs the right `patch`, and `create` for a new object.
   * @throws ApplyConflict 409 if a value differs from that of another manager, unless `force`
   */
  apply<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: NoInfer<ApplyConfiguration<T>>,
    options?: ApplyOptions,
  ): Promise<Stored<T>>;
  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>>;
}

/** Writes only the status, for types with that subresource. */
export interface StatusWriter {
  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>>;
  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>>;
  /** As `apply`, but creates nothing: 404 if the object does not exist. */
  applyStatus<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: NoInfer<ApplyConfiguration<T>>,
    options?: ApplyOptions,
  ): Promise<Stored<T>>;
}

export interface Watcher {
  /**
   * Resolves when the server has accepted the watch. A later refusal, for example of an expired revision over HTTP, is
   * thrown by the first read of the stream.
   */
  watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>>;
}

/**
 * The API over any transport: within the process, over HTTP, or over a worker's port. Every failure is the server's
 * StatusError, or 503 ServiceUnavailable if the server was not reached.
 */
export interface Client extends Reader, Writer, StatusWriter, Watcher {}
