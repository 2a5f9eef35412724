import type { ObjectKey } from '#pkg/apimachinery/index';

/** What to look at: which object, never what happened to it. */
export type ReconcileRequest = ObjectKey;

/** Done, or to be looked at again after a time. Milliseconds. */
export type ReconcileResult = void | { requeueAfterMs: number };

/**
 * Brings the world to what one object asks for. It is called again whenever something may have changed, and must end
 * the same however often it is called. A throw means "again, later"; a TerminalError "not again until something
 * changes".
 */
export interface Reconciler {
  reconcile(request: ReconcileRequest, signal: AbortSignal): Promise<ReconcileResult>;
}

/** Trying again would not help. */
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

/** The key of an object's own request. */
export function requestOf({
  metadata: { namespace = '', name },
}: {
  metadata: { namespace?: string; name: string };
}): ReconcileRequest {
  return { namespace, name };
}
