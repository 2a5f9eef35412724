/**
 * The platform's own controllers, on the runtime: they know the API and nothing of what is behind it. The garbage
 * collector deletes what nobody owns any more; the namespace controller empties the namespaces that were deleted;
 * events go an hour after they last happened; models and plugins have their roles.
 */
export * from './builtin-controllers.ts';
export { eventTtlMs } from './event-expiry/event-expiry.ts';
