import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { newBadRequest, newRequestEntityTooLarge, StatusError } from '#pkg/apimachinery/index';
import { newHeadersTooLarge } from '../request/check-request.ts';

/**
 * Answers bytes that Node's parser refused: there is no request, hence no context. Other failures (a reset, a TLS
 * handshake) get no answer.
 */
export function answerParseError(error: NodeJS.ErrnoException, socket: Duplex, log: Logger): void {
  if (isParseError(error) && socket.writable && !hasBegunAnswer(socket))
    answerRaw(socket, parseFailure(error.code ?? ''), log);
  else socket.destroy();
}

/** Whether the parser failed or a request's head timed out, rather than the connection. */
export function isParseError({ code = '' }: NodeJS.ErrnoException): boolean {
  return code.startsWith('HPE_') || code.startsWith('ERR_HTTP_');
}

/** Writes a Status directly to a socket and closes it. No filter sees it, so its id is logged here. */
export function answerRaw(socket: Duplex, failure: StatusError, log: Logger): void {
  const id = randomUUID();
  log.debug(
    { requestId: id, status: failure.code, reason: failure.message },
    'refused a request that cannot be parsed',
  );
  const body = JSON.stringify(failure.toStatus());
  const head = [
    `HTTP/1.1 ${failure.code} ${STATUS_CODES[failure.code]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-cache, private',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${id}`,
    `Audit-Id: ${id}`,
    'Connection: close',
  ];
  socket.on('error', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function parseFailure(code: string): StatusError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return newHeadersTooLarge();
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return newRequestEntityTooLarge('the chunk extensions of the request are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new StatusError(408, 'BadRequest', 'the headers of the request did not arrive in time');
    default:
      return newBadRequest('the request is not well-formed HTTP/1.1');
  }
}

/** Whether an answer has begun on this socket: a second would garble it. Node has no public way to check. */
function hasBegunAnswer(socket: Duplex): boolean {
  const { _httpMessage: current } = socket as Duplex & { _httpMessage?: { headersSent: boolean } | null };
  return current?.headersSent === true;
}
