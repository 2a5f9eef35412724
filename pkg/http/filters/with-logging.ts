import type { Logger } from 'pino';
import type { Filter, RequestContext } from '../request-context.ts';

/** Longer paths are cut in the log. */
const maxPath = 1024;

/**
 * One line a request, at its end: 5xx at error, 4xx and slow ones (default: from 1 s; never a watch) at info, others at debug.
 * Never the query, a header or a body: they hold credentials. `bytes` counts what went over the connection, headers included.
 */
export function withLogging(log: Logger, { slowMs = 1000 }: { slowMs?: number } = {}): Filter {
  return (next) => async (context) => {
    const { socket } = context.request;
    const start = performance.now();
    const bytesBefore = socket.bytesWritten;
    await next(context);
    const ms = performance.now() - start;
    const status = statusOf(context);
    // 503 and 504 are said of passing states: the answer tells the client to come back.
    const level = status >= 500 ? (status > 502 ? 'warn' : 'error') : status >= 400 || (ms >= slowMs && context.info.verb !== 'watch') ? 'info' : 'debug';
    if (!log.isLevelEnabled(level)) return;
    log[level](
      {
        requestId: context.id,
        method: context.request.method,
        path: context.info.path.slice(0, maxPath),
        status,
        ms: Math.round(ms * 100) / 100,
        user: context.user.name,
        bytes: socket.bytesWritten - bytesBefore,
      },
      'request',
    );
  };
}

/** 499 (nginx's number) where the client left before any answer. */
export function statusOf({ response }: RequestContext): number {
  return response.headersSent ? response.statusCode : 499;
}
