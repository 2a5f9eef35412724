import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { StatusError } from '#pkg/apimachinery/index';
import type { UserInfo } from '#pkg/identity/index';
import type { RequestBytes } from '../memory/request-bytes.ts';
import type { RequestInfo } from './request-info.ts';

/** One request on its way through the filters to its handler. */
export interface RequestContext {
  /** Sent back as X-Request-Id, and on every log line. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client's, behind trusted proxies too; IPv4 within IPv6 is IPv4. */
  readonly clientAddress: string;
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
  /**
   * Set where the request cannot be served whatever it asks (a malformed path, a header sent twice): `withStatus`
   * throws it before anything else runs.
   */
  readonly rejection?: StatusError | undefined;
  /** Anonymous until `withAuthentication` has run. */
  user: UserInfo;
  /** Who asked, where that is not `user`: somebody who may impersonate. */
  impersonator: UserInfo | undefined;
  /** With `requestId`, and `traceId` where the client named its trace. */
  readonly log: Logger;
  /** Of the trace the client says this request belongs to. */
  readonly traceId: string | undefined;
  /** The route pattern for metrics, if the handler has one. */
  route: string | undefined;
  /** How long the request waited for others to end. Milliseconds. */
  waitedMs: number;
  /** The slots of the request, to free them while it waits for its client; undefined without limits. */
  heldSlots: PausableSlots | undefined;
  /** Its part of the process's memory. */
  readonly bytes: RequestBytes;
  /** Texts of the `Warning: 299` headers that the answer will carry. */
  readonly warnings: string[];
  /** Aborted when the client is gone, the request timed out, or the server's drain is over. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to drain: a watch ends cleanly then. */
  readonly draining: AbortSignal;
  /**
   * Where requests wait behind this one on its connection, they are not served, and the connection ends with this
   * answer.
   */
  dropPipelined(): void;
  /** Makes `signal` abort with this reason; the first reason stays. */
  abort(reason: Error): void;
}

/** Slots that a request frees while it waits for its client. */
export interface PausableSlots {
  /**
   * Runs `arrive` without the shared slots, takes them again, and answers the result. @throws StatusError 429 if too
   * many bodies are arriving, or if the request gets no slot again
   */
  whileBodyArrives<T>(arrive: (sender: Sender) => Promise<T>): Promise<T>;
  /**
   * Resolves when the reader is ready and the request may go on; it goes on too where it finds no place again. Throws
   * what `read` rejects with.
   */
  whileAnswerIsRead(read: Promise<void>): Promise<void>;
}

/** Who sends a body. */
export interface Sender {
  received(bytes: number): void;
  /** Called at most once, when the body is not to be waited for any longer. */
  onCut: (reason: StatusError) => void;
}

/** Answers the request, or throws a StatusError, which `withStatus` turns into the answer. */
export type Handler = (context: RequestContext) => Promise<void>;

/** Wraps a handler with one concern. */
export type Filter = (next: Handler) => Handler;
