import { validateHeaderName, validateHeaderValue } from 'node:http';
import { newInternalError } from '#pkg/apimachinery/index';
import { beginAnswer, isAnswered, send, type RequestContext } from '#pkg/http/index';
import type { EndpointResult } from './endpoint-call.ts';

/** Limit of a body; a larger one is a fault of the plugin. */
export const maxResultBytes = 8 * 1024 * 1024;

/** Headers that a handler must not set: those of the connection, the server and authentication. */
const refused: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'content-length',
  'content-encoding',
  'date',
  'server',
  'set-cookie',
  'clear-site-data',
  'strict-transport-security',
  'public-key-pins',
  'alt-svc',
  'proxy-authenticate',
  'x-content-type-options',
  'x-request-id',
  'audit-id',
  'warning',
  'allow',
]);

/**
 * Sends the result of a handler: its headers without the refused ones, and its body as JSON by default.
 * @throws StatusError 500 for an invalid result
 */
export async function sendResult(context: RequestContext, { status, headers, body }: EndpointResult): Promise<void> {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw newInternalError(new Error(`a handler answered with the status ${status}`));
  if (body !== undefined && Buffer.byteLength(body) > maxResultBytes)
    throw newInternalError(new Error(`a handler answered with more than ${maxResultBytes} bytes`));
  const own = ownHeaders(headers, context);
  const contentType = own['content-type'] ?? 'application/json';
  delete own['content-type'];
  // Every 401 says how to authenticate.
  if (status === 401) own['www-authenticate'] ??= 'Bearer realm="svc"';
  if (body !== undefined && body !== '') return send(context, status, contentType, body, own);
  if (isAnswered(context.response)) return;
  if (status !== 204 && status !== 304) context.response.setHeader('Content-Length', 0);
  beginAnswer(context, status, own);
  context.response.end();
}

function ownHeaders(headers: Readonly<Record<string, string>>, { log }: RequestContext): Record<string, string> {
  const own: Record<string, string> = {};
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (refused.has(name) || name.startsWith('access-control-') || !isSendable(name, value))
      log.warn({ header: name.slice(0, 64) }, 'dropped a header that a handler must not set');
    else own[name] = value;
  }
  return own;
}

function isSendable(name: string, value: unknown): value is string {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value as string);
    return typeof value === 'string' && name !== '__proto__';
  } catch {
    return false;
  }
}
