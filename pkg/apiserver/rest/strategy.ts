import type { ApiObject, JsonObject, StatusCause } from '#pkg/apimachinery/index';
import type { StoredObject } from '#pkg/storage/index';
import type { WriteContext } from './write-context.ts';

export type JsonApiObject = ApiObject & JsonObject;

/** A write that is ready for the store; `object` is in the storage version's form and may still be changed. */
export interface WriteIntent {
  type: 'create' | 'update' | 'delete';
  object: JsonApiObject;
  /** The stored object that `object` was computed from; undefined on create. */
  from: StoredObject | undefined;
  context: WriteContext;
}

/**
 * The deviations of one kind from the common steps of a write; every step is optional.
 * Source: k8s.io/apiserver, registry/rest strategies.
 */
export interface Strategy {
  /** Runs after system fields are set, before validation; changes `object` in place. */
  prepareForCreate?(object: JsonApiObject): void;
  prepareForUpdate?(object: JsonApiObject, old: JsonApiObject, subresource: '' | 'status'): void;
  /**
   * Finalizer of an object that the store refuses to delete because it has content. The controller that empties the
   * object removes it.
   */
  readonly contentFinalizer?: string;
  /**
   * Runs once, before finalizers are checked; not for an object that is already being deleted. May throw a StatusError.
   */
  prepareForDelete?(object: JsonApiObject): void | Promise<void>;
  /** Returns problems beyond metadata and schema. The object belongs to the caller and does not change meanwhile. */
  validate?(object: JsonApiObject, old: JsonApiObject | undefined, context: WriteContext): Promise<StatusCause[]>;
  /** Checks that the user may write this content, after `validate` and before metadata is validated. StatusError 403. */
  authorize?(object: JsonApiObject, old: JsonApiObject | undefined, context: WriteContext): Promise<void>;
  /** Runs the write and the work around it. May run several times, each with the result of a new attempt. */
  commit?(intent: WriteIntent, write: () => Promise<StoredObject>): Promise<StoredObject>;
}
