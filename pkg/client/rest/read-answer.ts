import type { IncomingMessage } from 'node:http';
import {
  abortError,
  applyConflictOr,
  isJsonObject,
  newRequestEntityTooLarge,
  newTimeout,
  StatusError,
  statusErrorFrom,
  whenAborted,
  type JsonObject,
} from '#pkg/apimachinery/index';
import type { RestLimits } from './rest-limits.ts';
import { newUnreachable } from './transport.ts';

/**
 * The object in a response. @throws StatusError: the server's own for a failure; 500 for a response that this API
 * cannot give
 */
export async function readAnswer(
  response: IncomingMessage,
  limits: RestLimits,
  signal: AbortSignal,
): Promise<JsonObject> {
  const bytes = await readBytes(response, limits, signal);
  const { statusCode = 0 } = response;
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const value = parse(bytes);
  if (isSuccess && isJsonObject(value)) return value;
  const requestId = requestIdOf(response);
  if (!isSuccess) throw applyConflictOr(statusErrorFrom(value, { code: statusCode, ...requestId }));
  throw new StatusError(500, 'InternalError', 'the server gave an answer that is no JSON object', requestId);
}

export function requestIdOf({ headers }: IncomingMessage): { requestId?: string } {
  const id = headers['x-request-id'];
  return typeof id === 'string' ? { requestId: id.slice(0, 256) } : {};
}

/**
 * @throws StatusError 413 above the limit, 504 after a long silence, 503 if the connection breaks, the signal's reason
 */
function readBytes(
  response: IncomingMessage,
  { maxAnswerBytes, answerTimeoutMs }: RestLimits,
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let forget = (): void => undefined;
    const settle = (): void => {
      clearTimeout(timer);
      forget();
    };
    const fail = (error: Error): void => {
      settle();
      reject(error);
      response.destroy();
    };
    const timer = setTimeout(
      () => fail(newTimeout(`the answer did not go on within ${answerTimeoutMs / 1000} s`)),
      answerTimeoutMs,
    );
    forget = whenAborted(signal, () => fail(abortError(signal)));
    response.on('data', (chunk: Buffer) => {
      timer.refresh();
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxAnswerBytes) fail(newRequestEntityTooLarge(`the answer is larger than ${maxAnswerBytes} bytes`));
    });
    response.on('end', () => {
      settle();
      resolve(Buffer.concat(chunks, size));
    });
    response.on('error', (error) => fail(newUnreachable('the answer broke off', error)));
    response.on('close', () => {
      if (!response.readableEnded) fail(newUnreachable('the answer broke off', undefined));
    });
  });
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

const warningForm = /299 \S+ "((?:[^"\\]|\\.)*)"/g;

/**
 * The texts of the Warning headers of a response. They are UTF-8, which Node decodes as latin1. Source: RFC 7234, 5.5.
 */
export function warningTexts({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): string[] {
  const values = headersDistinct['warning'] ?? [];
  return values.flatMap((value) =>
    [...value.matchAll(warningForm)].map(([, text = '']) =>
      Buffer.from(text.replaceAll(/\\(.)/g, '$1'), 'latin1').toString('utf8'),
    ),
  );
}
