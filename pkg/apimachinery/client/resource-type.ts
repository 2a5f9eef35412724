import type { ApiObject } from '../meta/object.ts';

/** An object of any model. */
export type AnyObject = ApiObject<unknown, unknown>;

/**
 * A model's version as a client names it; `T` is the type of its objects. `defineModel` returns one; any value of this
 * shape works for a model declared elsewhere.
 */
export interface ResourceType<T extends AnyObject = AnyObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Whether status is written separately, at `/status`. Otherwise it is an ordinary part of the object. */
  readonly hasStatusSubresource: boolean;
  /** Never set; only carries the type. */
  readonly object?: T;
}
