import type { ApiObject, JsonObject, StatusCause } from '#pkg/apimachinery/index';
import type { StoredObject } from '#pkg/storage/index';
import type { WriteContext } from './write-context.ts';

export type JsonApiObject = ApiObject & JsonObject;

/** A write that is ready for the store; `object` is in the storage version's form and may still be changed. */
export interface WriteIntent {
  type: 'create' | 'update' | 'delete';
  object: JsonApiObject;
  /** What it was computed from; undefined on create. */
  from: StoredObject | undefined;
  context: WriteContext;
}

/**
 * What one kind does differently on the common way of a write; every step is optional.
 * Source: k8s.io/apiserver, registry/rest strategies.
 */
export interface Strategy {
  /** After system fields are set, before validation; changes `object` in place. */
  prepareForCreate?(object: JsonApiObject): void;
  prepareForUpdate?(object: JsonApiObject, old: JsonApiObject, subresource: '' | 'status'): void;
  /** Holds an object that the store does not delete, as something is in it; who empties it takes the finalizer away. */
  readonly contentFinalizer?: string;
  /**
   * Before finalizers are looked at, once: not for an object that is being deleted already. May refuse with a
   * StatusError.
   */
  prepareForDelete?(object: JsonApiObject): void | Promise<void>;
  /** What is wrong beyond metadata and schema. The object is the caller's own and does not change meanwhile. */
  validate?(object: JsonApiObject, old: JsonApiObject | undefined, context: WriteContext): Promise<StatusCause[]>;
  /** May the user write what the object says? Asked once it is valid. StatusError 403. */
  authorize?(object: JsonApiObject, old: JsonApiObject | undefined, context: WriteContext): Promise<void>;
  /** Does the write, around it what must be done with it. May run several times, with what a new attempt computed. */
  commit?(intent: WriteIntent, write: () => Promise<StoredObject>): Promise<StoredObject>;
}
