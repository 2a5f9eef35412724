import type { AnyObject, Stored } from '#pkg/apimachinery/index';

/**
 * What happened to an object, as a cache saw it. The first sight of an object is a `create`, be it new or not; `update`
 * has the object as it was. `delete` has the object as it last was; `isGuess` says that the deletion itself was missed,
 * so its last state may have been, too.
 */
export type ObjectEvent<T extends AnyObject = AnyObject> =
  | { type: 'create'; object: Stored<T> }
  | { type: 'update'; object: Stored<T>; old: Stored<T> }
  | { type: 'delete'; object: Stored<T>; isGuess: boolean }
  /** Something outside the API happened that concerns the object. */
  | { type: 'generic'; object: Stored<T> };
