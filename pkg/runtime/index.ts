/**
 * The controller runtime: caches follow the API, events pass predicates and handlers into a queue of requests, a
 * controller passes each request to a reconciler, and a manager runs controllers while this process leads. It uses only
 * the API.
 */
export { controllerFor, type ControllerBuilder, type WatchedTypeOptions } from './builder/controller-builder.ts';
export { Cache } from './cache/cache.ts';
export { CachedClient } from './cache/cached-client.ts';
export { Indexer, type IndexFunction } from './cache/indexer.ts';
export { Informer } from './cache/informer.ts';
export { Lister } from './cache/lister.ts';
export { Reflector, type ReflectorSink } from './cache/reflector.ts';
export * from './conditions/conditions.ts';
export * from './definition/controller-definition.ts';
export { Controller, type ControllerObserver, type ReconcileOutcome } from './controller/controller.ts';
export type { ObjectEvent } from './event/object-event.ts';
export * from './finalizer/finalizer.ts';
export * from './handler/event-handler.ts';
export {
  TaskLeases,
  type Leadership,
  type Task,
  type TaskLeasesOptions,
  type TaskSource,
} from './leaderelection/task-leases.ts';
export * from './leaderelection/lease.ts';
export type { Log } from './log.ts';
export type { FailureSummary, ReconcileFailure } from './controller/reconcile-failures.ts';
export { checkControllers } from './manager/check-controllers.ts';
export type { ControllerState, ControllerStatus } from './manager/controller-run.ts';
export { Manager, type ManagerOptions } from './manager/manager.ts';
export * from './patch/write-changes.ts';
export * from './predicate/predicate.ts';
export * from './reconcile/reconciler.ts';
export { EventRecorder, type EventRecorderOptions } from './recorder/event-recorder.ts';
export type { EventFacts, EventOptions, EventSink } from './recorder/event-sink.ts';
export { resumePositionAnnotation } from './resume/position-store.ts';
export * from './source/source.ts';
export { systemClock, type Clock } from './workqueue/clock.ts';
export { ManualClock } from './workqueue/manual-clock.ts';
export * from './workqueue/rate-limiter.ts';
export { WorkQueue, type QueueObserver } from './workqueue/work-queue.ts';
