import type { Logger } from 'pino';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { logNamesOf } from '../server/server-request-context.ts';

const probes: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz']);
/** Longer paths are cut in the log. */
const maxPathLength = 1024;

export interface WithLoggingOptions {
  /** A request that takes this long is slow. Milliseconds, default 1000. */
  slowMs?: number;
}

/**
 * Logs one line per request when it ends. Level: error for 5xx; warn for 503, 504 and slow requests (never a watch);
 * info for 4xx; debug for others, and for 429 even if slow, because they come by the thousand. At trace also a line
 * when it begins. Never logs the query, headers or bodies: they contain credentials. `clientAddress` comes from trusted
 * proxies; `bytes` counts the bytes sent on the connection, headers included; `waitedMs` is the time that the request
 * waited for others, and does not count as slow. A failed probe is at debug: its reason has a line of its own.
 */
export function withLogging(log: Logger, { slowMs = 1000 }: WithLoggingOptions = {}): Filter {
  return (next) => async (context) => {
    const { socket } = context.request;
    const start = performance.now();
    const bytesBefore = socket.bytesWritten;
    if (log.isLevelEnabled('trace'))
      log.trace(
        { ...logNamesOf(context), method: context.request.method, path: context.info.path.slice(0, maxPathLength) },
        'request begins',
      );
    await next(context);
    const ms = performance.now() - start;
    const status = responseStatus(context);
    const isWatch = context.info.verb === 'watch' || context.carriesWatches;
    const isSlow = status !== 429 && ms - context.waitedMs >= slowMs && !isWatch;
    const level = status === 503 && probes.has(context.info.path) ? 'debug' : levelOf(status, isSlow);
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        ...logNamesOf(context),
        method: context.request.method,
        path: context.info.path.slice(0, maxPathLength),
        status,
        ms: rounded(ms),
        ...(context.waitedMs > 0 ? { waitedMs: rounded(context.waitedMs) } : {}),
        ...logUserOf(context),
        clientAddress: context.clientAddress,
        bytes: socket.bytesWritten - bytesBefore,
      },
      isSlow ? 'slow request' : 'request',
    );
  };
}

/** The owner of the credential, and the impersonated user. */
export function logUserOf({ user, impersonator }: RequestContext): { user: string; as?: string } {
  return impersonator === undefined ? { user: user.name } : { user: impersonator.name, as: user.name };
}

/** 503 and 504 are temporary: the answer asks the client to retry. */
function levelOf(status: number, isSlow: boolean): 'error' | 'warn' | 'info' | 'debug' {
  if (status >= 500) return status > 502 ? 'warn' : 'error';
  if (isSlow) return 'warn';
  return status >= 400 && status !== 429 ? 'info' : 'debug';
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** 499 (nginx's number) if the client disconnected before any answer. */
export function responseStatus({ response }: RequestContext): number {
  return response.headersSent ? response.statusCode : 499;
}
