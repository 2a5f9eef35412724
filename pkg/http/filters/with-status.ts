import { STATUS_CODES } from 'node:http';
import { stringify } from 'yaml';
import { isStatusError, newInternalError, type StatusError } from '#pkg/apimachinery/index';
import { negotiate, parseAccept } from '../media-type/accept.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';
import { isAnswered, send } from '../answer/respond.ts';

const offers = [
  { type: 'application/json' },
  { type: 'application/problem+json' },
  { type: 'application/yaml' },
] as const;
/** Headers that a handler may have set for the answer that it did not send. */
const answerHeaders = ['Content-Encoding', 'Content-Disposition', 'ETag', 'Last-Modified', 'Location'];

/**
 * Turns every error from inner filters and handlers into one answer: a Status as JSON or YAML, or RFC 9457 if
 * requested.
 *
 * An error that is no StatusError is logged with its stack and answered with a plain 500. A 401 always has
 * WWW-Authenticate. A handler that knows the methods of a path sets `Allow` on the response before it throws 405. If an
 * answer has begun, the connection is destroyed, so that the client does not take it for complete.
 */
export function withStatus(): Filter {
  return (next) => async (context) => {
    try {
      if (context.rejection !== undefined) throw context.rejection;
      await next(context);
    } catch (error) {
      await answerFailure(context, error);
    }
  };
}

async function answerFailure(context: RequestContext, error: unknown): Promise<void> {
  const { response, request } = context;
  const failure = isStatusError(error) ? error : newInternalError(error);
  if (isAnswered(response)) {
    context.log.debug({ err: error }, 'a request failed after its answer, or its client left');
    return;
  }
  if (!isStatusError(error)) context.log.error({ err: error }, 'internal error');
  else if (error.cause !== undefined) context.log.warn({ err: error.cause }, `a request failed: ${error.message}`);
  if (response.headersSent) {
    context.log.info({ err: error }, 'a request failed within its answer');
    response.destroy();
    return;
  }
  for (const name of answerHeaders) response.removeHeader(name);
  response.setHeader('Cache-Control', 'no-cache, private');
  const retryAfter = failure.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter);
  if (failure.code === 401 && !response.hasHeader('WWW-Authenticate'))
    response.setHeader('WWW-Authenticate', 'Bearer realm="svc"');
  // A client that got no 100 Continue may or may not send its body: the connection cannot be reused.
  if (request.headers.expect !== undefined && !request.complete) response.shouldKeepAlive = false;
  const { type } = formatOf(request.headers.accept);
  await send(context, failure.code, type, bodyOf(context, failure, type));
}

/** A client that lists problem types anywhere wants failures in it: successes have other types. */
function formatOf(accept: string | undefined): (typeof offers)[number] {
  const takesProblems =
    accept?.includes('problem') === true && parseAccept(accept).some(({ type, q }) => q > 0 && type === offers[1].type);
  return takesProblems ? offers[1] : (negotiate(accept, offers) ?? offers[0]);
}

function bodyOf(context: RequestContext, failure: StatusError, type: (typeof offers)[number]['type']): string {
  if (type === 'application/yaml') return stringify(failure.toStatus(), { aliasDuplicateObjects: false });
  return JSON.stringify(type === 'application/json' ? failure.toStatus() : problemOf(context, failure));
}

/**
 * The failure in the form of RFC 9457. `about:blank` requires the status phrase as title; `code` has the reason for
 * programs.
 */
function problemOf({ id, request }: RequestContext, failure: StatusError): Record<string, unknown> {
  const causes = failure.details?.causes ?? [];
  return {
    type: 'about:blank',
    title: STATUS_CODES[failure.code] ?? failure.reason,
    status: failure.code,
    detail: failure.message,
    instance: (request.url ?? '').split('?', 1)[0]!.slice(0, 2048),
    code: failure.reason,
    errors: causes.map(({ field, message, reason }) => ({ field, detail: message, code: reason })),
    requestId: id,
  };
}
