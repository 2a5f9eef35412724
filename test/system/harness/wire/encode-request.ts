import type { WireRequest } from './wire-request.ts';

/** The bytes to send, in pieces. */
export function encodeRequest(request: WireRequest, token: string): Buffer[] {
  const { method, target, headers, body, raw, isAnonymous = false } = request;
  if (raw !== undefined) return raw.map((piece) => withToken(piece, token));
  const has = (name: string): boolean => headers.some(([each]) => each.toLowerCase() === name);
  const lines = [`${method} ${target} HTTP/1.1`];
  if (!has('host')) lines.push('Host: fuzz');
  if (!isAnonymous && !has('authorization')) lines.push(`Authorization: Bearer ${token}`);
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== undefined && !has('content-length') && !has('transfer-encoding'))
    lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return [body === undefined || body.length === 0 ? head : Buffer.concat([head, body])];
}

/** One line for each request, to repeat it with `node -e` or by hand; hides the token. */
export function showRequest(request: WireRequest): string {
  const ending =
    request.raw === undefined ? '' : request.ending === 'wait' ? ' (and then nothing)' : ' (and then the end)';
  return `${encodeRequest(request, '$TOKEN')
    .map((piece) => quoteBytes(piece))
    .join(' + ')}${ending}`;
}

function quoteBytes(bytes: Buffer): string {
  const longest = 4000;
  const shown = JSON.stringify(bytes.toString('latin1', 0, longest)).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return bytes.length > longest ? `${shown} and ${bytes.length - longest} bytes more` : shown;
}

const mark = Buffer.from('$TOKEN');

function withToken(piece: Buffer, token: string): Buffer {
  const at = piece.indexOf(mark);
  if (at === -1) return piece;
  return Buffer.concat([piece.subarray(0, at), Buffer.from(token), withToken(piece.subarray(at + mark.length), token)]);
}
