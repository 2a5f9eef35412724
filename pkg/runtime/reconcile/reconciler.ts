import type { ObjectKey } from '#pkg/apimachinery/index';

/** The object to reconcile, never the event. */
export type ReconcileRequest = ObjectKey;

/** Done, or reconcile again after this time. Milliseconds. */
export type ReconcileResult = void | { requeueAfterMs: number };

/**
 * Brings the world to the state that one object asks for. It is called whenever something may have changed, and must be
 * idempotent. An error means a later retry; a TerminalError means none until something changes.
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest, signal: AbortSignal): Promise<ReconcileResult>;
}

/** A retry would not help. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** `namespace/name`, or `/name` for a cluster-scoped object: a request as a queue's key. */
export function formatRequest({ namespace, name }: ReconcileRequest): string {
  return `${namespace}/${name}`;
}

export function parseRequest(key: string): ReconcileRequest {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The request of an object. */
export function requestOf({
  metadata: { namespace = '', name },
}: {
  metadata: { namespace?: string; name: string };
}): ReconcileRequest {
  return { namespace, name };
}
