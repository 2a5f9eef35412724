/** Holds an owner until its dependents are gone. Source, as of the others: `metav1.FinalizerDeleteDependents`. */
export const foregroundFinalizer = 'foregroundDeletion';
/** Holds an owner until its dependents no longer name it. */
export const orphanFinalizer = 'orphan';
/** Holds a namespace until nothing is left in it. */
export const namespaceFinalizer = 'kubernetes';
