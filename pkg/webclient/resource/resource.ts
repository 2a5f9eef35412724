import {
  checkWatchStart,
  collectionPath,
  objectPath,
  selectorsOf,
  type AnyObject,
  type Deletion,
  type IndexedResourceType,
  type IndexTypes,
  type ListKeys,
  type MetadataIndexes,
  type ObjectMeta,
  type SortedBy,
  type Stored,
  type WhereSelection,
} from '#pkg/apimachinery/index';
import { childController } from '../child-controller.ts';
import type { OutgoingCall, RequestSender } from '../request/sender.ts';
import { FetchEventStream } from '../watch/event-stream.ts';
import { selectionParams } from './query.ts';

/** A model as its front end names it: its objects, and, if known, its indexes. */
export interface WebModel<T extends AnyObject, Indexes extends IndexTypes> extends IndexedResourceType<T, Indexes> {
  /** How its lists merge. Default: as its `definition` says, if it has one. */
  readonly lists?: ListKeys;
}

/** An object that is to be stored: the handle knows its apiVersion and kind. */
export type Draft<T extends AnyObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  metadata: Partial<ObjectMeta>;
};

/** A name, or the metadata of an object, which may be of another namespace than the resource. */
export type ObjectName = string | { namespace?: string; name: string };

export interface CallOptions {
  /** Gives up the call: it rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface WriteCallOptions extends CallOptions {
  /** Checks the write, and stores nothing. Default false. */
  dryRun?: boolean;
  /** Who sets the fields, as `metadata.managedFields` names it. Default: that of the connection. */
  fieldManager?: string;
  /** Called with the text of each Warning header of the answer. Default: that of the connection. */
  warn?: (text: string) => void;
}

/** With `page` and `size`, or with `limit` and `continue`. */
export interface ResourceQuery<Indexes extends IndexTypes>
  extends WhereSelection<Indexes>, SortedBy<Indexes>, CallOptions {
  /** From 1. */
  page?: number;
  /** Objects of a page. */
  size?: number;
  /** Maximum number of objects of a chunk. */
  limit?: number;
  /** From the previous chunk. */
  continue?: string | undefined;
  /** Leave `metadata.managedFields` out. Default true. */
  omitManagedFields?: boolean;
  /** Time for the answer of each try to begin. Milliseconds; default: `timeoutMs` of the connection. */
  answerMs?: number;
}

/** What a list answers: `total` and the facts of a page only with `page` and `size`. */
export interface ListResult<T extends AnyObject> {
  items: Stored<T>[];
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  page?: number;
  size?: number;
  total?: number;
  /** Are there more than `total`? */
  totalIsLowerBound?: boolean;
  totalPages?: number;
  hasNext?: boolean;
  hasPrevious?: boolean;
}

export interface WatchQuery<Indexes extends IndexTypes> extends WhereSelection<Indexes>, CallOptions {
  /** Every change after this revision: of a list, an object, or an event. */
  since: string;
  omitManagedFields?: boolean;
}

/** Options of a merge patch: `metadata.resourceVersion` in it is a precondition. */
export interface PatchOptions extends WriteCallOptions {
  /** Writes the status, and nothing else. Default false. */
  status?: boolean;
}

export interface ApplyCallOptions extends WriteCallOptions {
  /** Take over fields of others instead of 409. Default false. */
  force?: boolean;
}

export interface RemoveOptions extends WriteCallOptions {
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
}

/** The objects of one model, in one namespace or in all. Every failure is a StatusError. */
export class Resource<T extends AnyObject, Indexes extends IndexTypes = IndexTypes> {
  readonly model: WebModel<T, Indexes>;
  /** Of its objects, on the server. */
  readonly path: string;
  /** Empty: of all namespaces, or of a model without. */
  readonly namespace: string;
  /** Objects of one place share one connection. */
  readonly connection: RequestSender;

  constructor(connection: RequestSender, model: WebModel<T, Indexes>, namespace = '') {
    this.model = model;
    this.connection = connection;
    this.path = collectionPath(model, namespace);
    this.namespace = namespace;
  }

  async get(name: ObjectName, { signal }: CallOptions = {}): Promise<Stored<T>> {
    return this.#ask({ method: 'GET', path: this.#pathOf(name), accept: acceptOf(), signal });
  }

  /** One page or chunk; without either, the server's first page. */
  async list(query: ResourceQuery<Indexes & MetadataIndexes> = {}): Promise<ListResult<T>> {
    const { sort = [], page, size, limit, continue: next, omitManagedFields, answerMs, signal } = query;
    const params = selectionParams(query);
    for (const key of sort) params.append('sort', key);
    for (const [name, value] of Object.entries({ page, size, limit, continue: next }))
      if (value !== undefined) params.set(name, String(value));
    const accept = acceptOf(omitManagedFields);
    return this.#ask({ method: 'GET', path: this.path, query: params, accept, answerMs, signal });
  }

  /** All objects of the selection, read in chunks of `limit` (default 500) as the loop takes them: one snapshot. */
  async *each(query: Omit<ResourceQuery<Indexes & MetadataIndexes>, 'page' | 'size'> = {}): AsyncGenerator<Stored<T>> {
    let next = query.continue;
    do {
      const { items, metadata } = await this.list({ limit: 500, ...query, continue: next });
      yield* items;
      next = metadata.continue;
    } while (next !== undefined);
  }

  create(object: Draft<T>, options: WriteCallOptions = {}): Promise<Stored<T>> {
    const path = collectionPath(this.model, object.metadata.namespace ?? this.namespace);
    return this.#write({ method: 'POST', path, body: this.#whole(object) }, options);
  }

  /** Replaces the whole object; with its resourceVersion, 409 if it is not the newest. */
  update(object: Draft<T> & { metadata: { name: string } }, options: WriteCallOptions = {}): Promise<Stored<T>> {
    return this.#write({ method: 'PUT', path: this.#pathOf(object.metadata), body: this.#whole(object) }, options);
  }

  /** A merge patch: only these fields change, null removes one. */
  patch(name: ObjectName, patch: object, { status = false, ...options }: PatchOptions = {}): Promise<Stored<T>> {
    const path = this.#pathOf(name) + (status ? '/status' : '');
    return this.#write({ method: 'PATCH', path, body: patch, contentType: 'application/merge-patch+json' }, options);
  }

  /** Server-side apply: the object has these fields, which the field manager owns; it is created if there is none. */
  apply(object: Draft<T> & { metadata: { name: string } }, options: ApplyCallOptions = {}): Promise<Stored<T>> {
    const path = this.#pathOf(object.metadata);
    const contentType = 'application/apply-patch+yaml';
    return this.#write({ method: 'PATCH', path, body: this.#whole(object), contentType }, options);
  }

  /** The uid of what was deleted; `object` only if finalizers still hold it. */
  async remove(name: ObjectName, options: RemoveOptions = {}): Promise<Deletion<T>> {
    const { uid, resourceVersion, propagationPolicy, dryRun = false, signal, warn } = options;
    const answer = await this.#ask<{ kind: string; details?: { uid?: string } } & Stored<T>>({
      method: 'DELETE',
      path: this.#pathOf(name),
      body: {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        preconditions: { uid, resourceVersion },
        propagationPolicy,
        dryRun: dryRun ? ['All'] : undefined,
      },
      isRepeatable: !dryRun,
      signal,
      warn,
    });
    return answer.kind === 'Status' ? { uid: answer.details?.uid ?? '' } : { uid: answer.metadata.uid, object: answer };
  }

  /** Resolves when the server has accepted the watch. It ends when the connection does: watch again, or use `live`. */
  async watch({
    since,
    signal,
    omitManagedFields,
    ...selection
  }: WatchQuery<Indexes & MetadataIndexes>): Promise<FetchEventStream<T>> {
    checkWatchStart(since);
    const from = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: since };
    const query = new URLSearchParams({ ...selectorsOf(selection), ...from });
    const limit = childController(signal);
    try {
      const call = { method: 'GET', path: this.path, query, accept: acceptOf(omitManagedFields) } as const;
      const { body } = await this.connection.open(call, limit);
      return new FetchEventStream<T>(body!, limit, this.connection.maxSilenceMs);
    } catch (error) {
      limit.abort();
      throw error;
    }
  }

  #write(
    call: OutgoingCall,
    { force = false, dryRun = false, fieldManager = this.connection.fieldManager, signal, warn }: ApplyCallOptions,
  ): Promise<Stored<T>> {
    const query = new URLSearchParams(force ? { force: 'true' } : {});
    query.set('fieldManager', fieldManager);
    if (dryRun) query.set('dryRun', 'All');
    return this.#ask({ ...call, query, accept: acceptOf(), isRepeatable: !dryRun, signal, warn });
  }

  #ask<Answer>(call: OutgoingCall): Promise<Answer> {
    return this.connection.json(call) as Promise<Answer>;
  }

  #whole(object: Draft<T>): object {
    const { group, version, kind } = this.model;
    return { apiVersion: group === '' ? version : `${group}/${version}`, kind, ...object };
  }

  #pathOf(object: ObjectName): string {
    const { namespace = this.namespace, name } = typeof object === 'string' ? { name: object } : object;
    return objectPath(this.model, { namespace, name });
  }
}

/** The media type of answers with objects. */
export function acceptOf(omitManagedFields = true): string {
  return `application/json${omitManagedFields ? ';drop=metadata.managedFields' : ''}`;
}
