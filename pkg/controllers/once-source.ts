import type { ReconcileRequest, Source } from '#pkg/runtime/index';

/** Asks for one look when the controller begins: for those that look at everything at once. */
export function once(request: ReconcileRequest): Source {
  return {
    start: (enqueue) => {
      enqueue(request);
      return Promise.resolve(true);
    },
    stop: () => undefined,
  };
}
