import type { MessagePort } from 'node:worker_threads';
import { isJsonObject, type Status, type StatusError, statusErrorFrom } from '#pkg/apimachinery/index';

/**
 * What goes over the port, each message as JSON text, so that its size is known before it is read and neither side can
 * send the other anything but data. A call has a number, which everything about it bears.
 */
export type WorkerMessage =
  | { id: number; call: unknown }
  /** The answer is no longer waited for; of a watch: it is over. */
  | { id: number; abort: true }
  /** So many more events may be sent. */
  | { id: number; grant: number }
  /** So many characters have been read, since this was said last. */
  | { read: number };

/** What a reader may have read without saying so. Characters. */
export const readStep = 64 << 10;

export type HostMessage =
  | { id: number; result: unknown }
  | { id: number; error: WireError }
  | { id: number; event: unknown }
  /** The watch has ended without an error. */
  | { id: number; end: true }
  /** The other side takes no more calls. */
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
  return statusErrorFrom(status, typeof requestId === 'string' ? { requestId } : {});
}

export function sendText(port: MessagePort, text: string): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser; a port has one other side
  port.postMessage(text);
}

/** Undefined for a text that is no JSON object. */
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
