/**
 * Refusals that say nothing of the objects, and may come at any time under faults. 403: permissions come by the change
 * stream, and a replica that is behind denies rather than to allow what was taken away. 408: the body did not come in
 * time. 429: too much at a time.
 */
export const passingStatuses: ReadonlySet<number> = new Set([403, 408, 429]);
