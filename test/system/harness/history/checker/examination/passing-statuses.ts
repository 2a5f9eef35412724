/**
 * Refusals that do not depend on objects, and may occur at any time under faults. 403: permissions arrive through the
 * change stream, and a replica that lags denies rather than allows. 408: the body was late. 429: too many requests.
 */
export const passingStatuses: ReadonlySet<number> = new Set([403, 408, 429]);
