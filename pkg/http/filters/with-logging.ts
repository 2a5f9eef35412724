import type { Logger } from 'pino';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { logNamesOf } from '../server/server-request-context.ts';

const probes: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz']);
/** Longer paths are cut in the log. */
const maxPath = 1024;

export interface LoggingOptions {
  /** From here on a request is slow. Milliseconds, default 1000. */
  slowMs?: number;
}

/**
 * One line a request, at its end: 5xx at error, 503 and 504 at warn, as slow ones are (never a watch), 4xx at info,
 * others at debug, 429 too, however slow: where there is one there are thousands; and one at its beginning, at trace.
 * Never the query, a header or a body: they hold credentials. `clientAddress` is what trusted proxies say; `bytes`
 * counts what went over the connection, headers included; `waitedMs` is there where the request had to wait for others
 * to end, and makes none slow. A probe that fails is at debug: why it does has a line of its own.
 */
export function withLogging(log: Logger, { slowMs = 1000 }: LoggingOptions = {}): Filter {
  return (next) => async (context) => {
    const { socket } = context.request;
    const start = performance.now();
    const bytesBefore = socket.bytesWritten;
    if (log.isLevelEnabled('trace'))
      log.trace(
        { ...logNamesOf(context), method: context.request.method, path: context.info.path.slice(0, maxPath) },
        'request begins',
      );
    await next(context);
    const ms = performance.now() - start;
    const status = responseStatus(context);
    const isSlow = status !== 429 && ms - context.waitedMs >= slowMs && context.info.verb !== 'watch';
    const level = status === 503 && probes.has(context.info.path) ? 'debug' : levelOf(status, isSlow);
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        ...logNamesOf(context),
        method: context.request.method,
        path: context.info.path.slice(0, maxPath),
        status,
        ms: rounded(ms),
        ...(context.waitedMs > 0 ? { waitedMs: rounded(context.waitedMs) } : {}),
        ...whoAsked(context),
        clientAddress: context.clientAddress,
        bytes: socket.bytesWritten - bytesBefore,
      },
      isSlow ? 'slow request' : 'request',
    );
  };
}

/** The one whose credential it was, and as whom. */
function whoAsked({ user, impersonator }: RequestContext): { user: string; as?: string } {
  return impersonator === undefined ? { user: user.name } : { user: impersonator.name, as: user.name };
}

/** 503 and 504 are said of passing states: the answer tells the client to come back. */
function levelOf(status: number, isSlow: boolean): 'error' | 'warn' | 'info' | 'debug' {
  if (status >= 500) return status > 502 ? 'warn' : 'error';
  if (isSlow) return 'warn';
  return status >= 400 && status !== 429 ? 'info' : 'debug';
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** 499 (nginx's number) where the client left before any answer. */
export function responseStatus({ response }: RequestContext): number {
  return response.headersSent ? response.statusCode : 499;
}
