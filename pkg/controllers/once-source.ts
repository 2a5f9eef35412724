import type { ReconcileRequest, Source } from '#pkg/runtime/index';

/** A source of one request at the start: for controllers that handle all objects in one reconcile. */
export function onceSource(request: ReconcileRequest): Source {
  return {
    start: (enqueue) => {
      enqueue(request);
      return Promise.resolve(true);
    },
    stop: () => undefined,
  };
}
