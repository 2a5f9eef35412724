import type { AnyObject, Stored } from '#pkg/apimachinery/index';

/**
 * A change of an object, as a cache saw it. The first event of an object is a `create`, whether the object is new or
 * not; `update` has the previous object. `delete` has the last known object; `isGuess` means that the deletion itself
 * was missed, so the last state may have been missed too.
 */
export type ObjectEvent<T extends AnyObject = AnyObject> =
  | { type: 'create'; object: Stored<T> }
  | { type: 'update'; object: Stored<T>; old: Stored<T> }
  | { type: 'delete'; object: Stored<T>; isGuess: boolean }
  /** An event outside the API that concerns the object. */
  | { type: 'generic'; object: Stored<T> };
