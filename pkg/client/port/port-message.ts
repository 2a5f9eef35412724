import type { MessagePort } from 'node:worker_threads';
import { applyConflictOr, isJsonObject, type Status, type StatusError, statusErrorFrom } from '#pkg/apimachinery/index';

/**
 * A message on the port, as JSON text, so that its size is known before it is parsed and only data can be sent. All
 * messages of a call have its id.
 */
export type WorkerMessage =
  | { id: number; call: unknown }
  /** The caller no longer waits for the response; ends a watch. */
  | { id: number; abort: true }
  /** Allows the watch to send this many more events. */
  | { id: number; grant: number }
  /** Characters read since the previous message of this kind. */
  | { read: number };

/** After this many characters the reader must report them as read. */
export const readStep = 64 << 10;

export type HostMessage =
  | { id: number; result: unknown }
  | { id: number; error: WireError }
  | { id: number; event: unknown }
  /** The watch has ended without an error. */
  | { id: number; end: true }
  /** The other side accepts no more calls. */
  | { closed: true };

export interface WireError {
  status: Status;
  requestId?: string;
}

export function wireError(error: StatusError): WireError {
  return { status: error.toStatus(), ...(error.requestId === undefined ? {} : { requestId: error.requestId }) };
}

export function errorFromWire(error: unknown): StatusError {
  if (!isJsonObject(error)) return statusErrorFrom(undefined);
  const { status, requestId } = error;
  return applyConflictOr(statusErrorFrom(status, typeof requestId === 'string' ? { requestId } : {}));
}

export function sendText(port: MessagePort, text: string): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser; a port has one other side
  port.postMessage(text);
}

/** Undefined if the text is not a JSON object. */
export function readMessage(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
