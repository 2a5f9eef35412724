import { isStatusError } from '#pkg/apimachinery/index';
import { databaseFailure, failureSentence } from '#pkg/database/index';
import { isAnswered, RepeatedAuthorizationError, send, type Filter, type RequestContext } from '#pkg/http/index';
import { SecretKeyError } from '../secrets/secret-error.ts';
import { AccessError, isAccessError, newDetail, newAccessUnavailable } from '../http/access-error.ts';
import type { AccessResponse } from './operation.ts';

/** This service's codes for errors of the HTTP server. */
const codes: Readonly<Record<number, string>> = {
  400: 'parse_error',
  404: 'not_found',
  408: 'timeout',
  413: 'too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  417: 'expectation_failed',
  429: 'throttled',
  431: 'headers_too_large',
  503: 'unavailable',
  504: 'timeout',
};

/** Builds a page for an error. */
export type ErrorPage = (
  context: RequestContext,
  failure: AccessError,
) => Pick<AccessResponse, 'contentType' | 'body' | 'headers'> | undefined;

/**
 * Turns thrown errors into responses. Anything but an AccessError or a StatusError is logged with its stack, and
 * answered as 500 without details. A 401 lists the schemes. `pageOf` returns a page if the client asked for one, else
 * undefined for a JSON answer.
 */
export function withAccessErrors(challenges: readonly string[], pageOf?: ErrorPage): Filter {
  return (next) => async (context) => {
    try {
      // `authenticate` answers a repeated Authorization header as a wrong credential.
      if (context.rejection !== undefined && !(context.rejection instanceof RepeatedAuthorizationError))
        throw context.rejection;
      await next(context);
    } catch (error) {
      await answerFailure(context, error, { challenges, pageOf });
    }
  };
}

async function answerFailure(
  context: RequestContext,
  error: unknown,
  { challenges, pageOf }: { challenges: readonly string[]; pageOf: ErrorPage | undefined },
): Promise<void> {
  const { response, request } = context;
  if (isAnswered(response)) {
    context.log.debug({ err: error }, 'a request failed after its answer, or its client left');
    return;
  }
  const failure = translate(context, error);
  if (response.headersSent) {
    context.log.info({ err: error }, 'a request failed within its answer');
    response.destroy();
    return;
  }
  for (const name of ['Content-Encoding', 'ETag', 'Location', 'Set-Cookie']) response.removeHeader(name);
  response.setHeader('Cache-Control', 'no-store');
  if (failure.status === 401) response.setHeader('WWW-Authenticate', [...challenges]);
  // The client got no 100 Continue and may or may not send its body: the connection cannot be reused.
  if (request.headers.expect !== undefined && !request.complete) response.shouldKeepAlive = false;
  const {
    contentType = 'application/json',
    body = JSON.stringify(failure.body),
    headers,
  } = pageOf?.(context, failure) ?? {};
  await send(context, failure.status, contentType, body, { ...headers, ...failure.headers });
}

function translate(context: RequestContext, error: unknown): AccessError {
  if (isAccessError(error)) return error;
  const databaseFailed = databaseFailure(error);
  if (databaseFailed !== undefined) {
    const why = failureSentence(databaseFailed);
    context.log.warn({ err: error }, `a request failed: ${why}`);
    return newAccessUnavailable(why);
  }
  if (error instanceof SecretKeyError) {
    context.log.error({ err: error }, 'could not seal a secret');
    return newAccessUnavailable();
  }
  if (!isStatusError(error)) {
    context.log.error({ err: error }, 'internal error');
    return newDetail(500, 'error', 'An internal error occurred.');
  }
  if (error.cause !== undefined) context.log.warn({ err: error.cause }, `a request failed: ${error.message}`);
  const { code, message, details } = error;
  const retryAfter = details?.retryAfterSeconds;
  return newDetail(
    code,
    codes[code] ?? 'error',
    code >= 500 && code !== 503 && code !== 504 ? 'An internal error occurred.' : message,
    retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
  );
}
