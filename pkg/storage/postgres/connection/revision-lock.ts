/** Held from the first revision of a write to the end of its transaction: revision order is commit order. */
export const revisionLock = 815;
