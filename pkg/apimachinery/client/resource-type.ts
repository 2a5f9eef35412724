import type { ApiObject } from '../meta/object.ts';

/** An object of some model: whose, only the caller knows. */
export type AnyObject = ApiObject<unknown, unknown>;

/**
 * A model's version as a client names it; `T` is the type of its objects. What `defineModel` gives is one, and so is
 * any value of this shape for a model that somebody else declared.
 */
export interface ResourceType<T extends AnyObject = AnyObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Is status written apart, at `/status`? Otherwise it is a part of the object like any other. */
  readonly hasStatusSubresource: boolean;
  /** Never there: it only carries the type. */
  readonly object?: T;
}
