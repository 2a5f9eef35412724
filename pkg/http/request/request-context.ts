import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { StatusError } from '#pkg/apimachinery/index';
import type { WriteAudit } from '#pkg/audit/index';
import type { UserInfo } from '#pkg/identity/index';
import type { RequestBytes } from '../memory/request-bytes.ts';
import type { RequestInfo } from './request-info.ts';
import type { WebSocketUpgrade } from './web-socket-upgrade.ts';

/** One request, as filters and handler see it. */
export interface RequestContext {
  /** Sent as X-Request-Id, and part of every log line. */
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client's address, also behind trusted proxies; an IPv4 address within IPv6 as IPv4. */
  readonly clientAddress: string;
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
  /**
   * Set if the request is refused whatever its path (a malformed path, a duplicate header): `withStatus` throws it
   * before anything else runs.
   */
  readonly rejection?: StatusError | undefined;
  /** The WebSocket that the request asks for; undefined for any other request. Only a watch may ask for one. */
  readonly webSocket?: WebSocketUpgrade | undefined;
  /** Anonymous until `withAuthentication` has run. */
  user: UserInfo;
  /** The authenticated user, if `user` is impersonated. */
  impersonator: UserInfo | undefined;
  /** With `requestId`, and `traceId` if the client sent one. */
  readonly log: Logger;
  /** The trace that the client says this request belongs to. */
  readonly traceId: string | undefined;
  /** The route pattern for metrics, if the handler has one. */
  route: string | undefined;
  /** The answer carries watches, though the request is none: it is logged and measured as a watch. */
  carriesWatches: boolean;
  /** Time that the request waited for others. Milliseconds. */
  waitedMs: number;
  /** The slots of the request, to free them while it waits for its client; undefined without limits. */
  heldSlots: PausableSlots | undefined;
  /** The audit of the request; undefined if it is not recorded. */
  audit: WriteAudit | undefined;
  /** The memory that the request uses. */
  readonly bytes: RequestBytes;
  /** Texts of the `Warning: 299` headers that the answer will carry. */
  readonly warnings: string[];
  /** Aborted when the client is gone, the request timed out, or the server's drain is over. */
  readonly signal: AbortSignal;
  /** Aborted when the server begins to drain: a watch ends cleanly then. */
  readonly draining: AbortSignal;
  /** If requests wait behind this one on its connection, drops them and closes the connection after this answer. */
  dropPipelined(): void;
  /** Makes `signal` abort with this reason; the first reason stays. */
  abort(reason: Error): void;
}

/** Slots that a request frees while it waits for its client. */
export interface PausableSlots {
  /**
   * Runs `arrive` without the shared slots, takes them again, and returns the result. @throws StatusError 429 if too
   * many bodies are arriving, or if the request gets no slot again
   */
  whileBodyArrives<T>(arrive: (sender: Sender) => Promise<T>): Promise<T>;
  /**
   * Frees the shared slots until `read` resolves and then takes them again; the request continues even without a slot.
   * Rejects as `read` does.
   */
  whileAnswerIsRead(read: Promise<void>): Promise<void>;
  /**
   * The slots of a watch that the answer of this request carries: those that a request for it would have. `watch` is its
   * context, derived from that of the request. @throws StatusError 429 as for a request
   */
  ofWatch(watch: RequestContext): Promise<WatchSlots>;
}

/** The slots of one watch. */
export interface WatchSlots {
  /** Its stream has begun: from now on it counts as a watch only. Idempotent. */
  begun(): void;
  /** Idempotent. */
  end(): void;
}

/** The sender of a body. */
export interface Sender {
  received(bytes: number): void;
  /** Called at most once, when the body must not be read any further. */
  onCut: (reason: StatusError) => void;
}

/** Answers the request, or throws a StatusError, which `withStatus` turns into the answer. */
export type Handler = (context: RequestContext) => Promise<void>;

/** Wraps a handler with one concern. */
export type Filter = (next: Handler) => Handler;
