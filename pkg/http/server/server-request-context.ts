import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WriteAudit } from '#pkg/audit/index';
import type { Logger } from 'pino';
import { isStatusError, newBadRequest, type StatusError } from '#pkg/apimachinery/index';
import { anonymousUser, type UserInfo } from '#pkg/identity/index';
import type { TrustedProxies } from '../connection/client-address.ts';
import { checkRequest, type RequestLimits } from '../request/check-request.ts';
import type { ByteBudget } from '../memory/byte-budget.ts';
import { CountedRequestBytes, uncounted, type BytesObserver, type RequestBytes } from '../memory/request-bytes.ts';
import { parseRequestInfo, unparsedRequestInfo } from '../request/parse-request-info.ts';
import type { Pipeline } from './pipeline.ts';
import type { PausableSlots, RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { parseQuery } from '../request/url-encoded.ts';
import type { WebSocketHandshake } from '../websocket/web-socket-handshake.ts';

/** The budget that requests share, and its observer. */
export interface ContextMemory {
  budget: ByteBudget;
  observer?: BytesObserver;
}

interface ServerRequestContextOptions {
  log: Logger;
  draining: AbortSignal;
  limits: RequestLimits;
  proxies: TrustedProxies;
  refusal?: StatusError | undefined;
  memory?: ContextMemory | undefined;
  pipeline: Pipeline;
  webSocket?: WebSocketHandshake | undefined;
}

const idForm = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * The context that HttpServer creates; the logger and abort controller, which only some requests need, are created on
 * first use.
 */
export class ServerRequestContext implements RequestContext {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly info: RequestInfo;
  readonly rejection: StatusError | undefined;
  readonly webSocket: WebSocketHandshake | undefined;
  user: UserInfo = anonymousUser;
  impersonator: UserInfo | undefined;
  readonly warnings: string[] = [];
  readonly traceId: string | undefined;
  route: string | undefined;
  carriesWatches = false;
  waitedMs = 0;
  heldSlots: PausableSlots | undefined;
  audit: WriteAudit | undefined;
  readonly draining: AbortSignal;
  // Not `#`: a recheck of the request derives a context from this one.
  private readonly serverLog: Logger;
  private readonly proxies: TrustedProxies;
  private readonly pipeline: Pipeline;
  private address: string | undefined;
  private requestLog: Logger | undefined;
  private controller: AbortController | undefined;
  private abortReason: Error | undefined;
  private readonly memory: ContextMemory | undefined;
  private counted: CountedRequestBytes | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, options: ServerRequestContextOptions) {
    this.request = request;
    this.response = response;
    this.serverLog = options.log;
    this.memory = options.memory;
    this.proxies = options.proxies;
    this.draining = options.draining;
    this.pipeline = options.pipeline;
    this.webSocket = options.webSocket;
    const sentId = request.headers['x-request-id'];
    this.id = typeof sentId === 'string' && idForm.test(sentId) ? sentId : randomUUID();
    this.traceId = traceIdOf(request.headers['traceparent']);
    const url = originForm(request.url ?? '');
    // For code that reads the request itself.
    request.url = url;
    const questionMark = url.indexOf('?');
    const path = questionMark === -1 ? url : url.slice(0, questionMark);
    const method = request.method ?? '';
    let rejection = options.refusal ?? checkRequest(request, options.limits);
    let info: RequestInfo | undefined;
    let query = new URLSearchParams();
    if (rejection === undefined) {
      try {
        if (questionMark !== -1) query = parseQuery(url.slice(questionMark + 1));
        info = parseRequestInfo(method, path, query);
      } catch (error) {
        rejection = isStatusError(error) ? error : newBadRequest('the path cannot be read');
      }
    }
    rejection ??= checkUpgrade(request, info, options.webSocket);
    this.query = query;
    this.info = info ?? unparsedRequestInfo(method, path.slice(0, 256));
    this.rejection = rejection;
  }

  get clientAddress(): string {
    this.address ??= this.proxies.addressOf(this.request);
    return this.address;
  }

  get log(): Logger {
    this.requestLog ??= this.serverLog.child(logNamesOf(this));
    return this.requestLog;
  }

  get bytes(): RequestBytes {
    if (this.memory === undefined) return uncounted;
    return (this.counted ??= new CountedRequestBytes(this.memory.budget, this, this.memory.observer));
  }

  /** Call when the handler has ended. */
  endParsing(): void {
    this.counted?.endParsing();
  }

  /** Call when the handler has ended and the answer is sent or cannot be sent. */
  endBytes(): void {
    this.counted?.end();
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.abortReason !== undefined) this.controller.abort(this.abortReason);
    }
    return this.controller.signal;
  }

  dropPipelined(): void {
    this.pipeline.dropWaiting();
  }

  abort(reason: Error): void {
    this.abortReason ??= reason;
    this.controller?.abort(this.abortReason);
  }
}

/** A client that asks for h2c, as some do with every request, takes an ordinary answer. Source: RFC 9110, 7.8. */
function checkUpgrade(
  { headers: { upgrade } }: IncomingMessage,
  info: RequestInfo | undefined,
  webSocket: WebSocketHandshake | undefined,
): StatusError | undefined {
  if (webSocket !== undefined && info?.isResourceRequest === true && info.verb === 'watch') return webSocket.fault;
  return upgrade === undefined || upgrade.toLowerCase() === 'h2c' ? undefined : newBadRequest(upgradeRule);
}

const upgradeRule =
  'only a watch can be upgraded: to a WebSocket, by GET, with the headers "Connection: Upgrade" and "Upgrade: websocket"';

/** The first fields of every log line of a request. */
export function logNamesOf({ id, traceId }: Pick<RequestContext, 'id' | 'traceId'>): {
  requestId: string;
  traceId?: string;
} {
  return traceId === undefined ? { requestId: id } : { requestId: id, traceId };
}

/**
 * Scheme and authority of a request target in absolute form. User info is refused: it can make a URL seem to name
 * another host.
 */
const targetAuthority = /^https?:\/\/[^/?#@\\\s]+(?=[/?]|$)/i;

/**
 * The request target without scheme and authority, which a client sends if it takes this server for a proxy. The host
 * in it is ignored, as is the Host header here. Any other target is returned unchanged. Source: RFC 9112, 3.2.2: a
 * server must accept this form.
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const match = targetAuthority.exec(target);
  if (match === null) return target;
  const rest = target.slice(match[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const traceParentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const allZero = /^0+$/;

/**
 * The trace id from the `traceparent` header; undefined if it is missing or malformed. A newer version may have more
 * fields. Source: W3C Trace Context, 3.2.
 */
export function traceIdOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header.length > 256) return undefined;
  const match = traceParentForm.exec(header);
  if (match === null) return undefined;
  const [, version, traceId, parentId, rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  return allZero.test(traceId!) || allZero.test(parentId!) ? undefined : traceId;
}
