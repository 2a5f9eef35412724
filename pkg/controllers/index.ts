/**
 * The platform's own controllers, based on the runtime and the API alone. The garbage collector deletes objects without
 * existing owners; the namespace controller empties deleted namespaces; events expire an hour after their last
 * occurrence; models and plugins get their roles.
 */
export * from './builtin-controllers.ts';
export { eventTtlMs } from './event-expiry/event-expiry.ts';
