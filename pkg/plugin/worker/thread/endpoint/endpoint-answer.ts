import { EndpointAnswer } from '../../../definition/endpoint-definition.ts';
import type { EndpointResult } from '../../../endpoint/endpoint-call.ts';

/** Limit in characters; a longer body is a fault of the handler. */
const maxBodyLength = 8 << 20;
const maxHeaders = 50;
const maxHeaderLength = 8192;
/** Headers of the connection, of the server and of authentication. */
const reserved: ReadonlySet<string> = new Set([
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
  'set-cookie',
  'x-request-id',
]);

/** Converts a handler's return value to an HTTP response. @throws TypeError for an invalid value */
export function resultOf(returned: unknown): EndpointResult {
  const { status, headers, body } =
    returned instanceof EndpointAnswer ? returned : new EndpointAnswer({ body: returned });
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError(`the handler answered with the status ${String(status)}`);
  const given = headersOf(headers);
  if (body === undefined) return { status, headers: given };
  if (status === 204 || status === 304)
    throw new TypeError(`the handler answered ${status}, which has no body, with one`);
  const isText = typeof body === 'string' && given['content-type'] !== undefined;
  const text = isText ? body : jsonOf(body);
  if (text.length > maxBodyLength)
    throw new TypeError(`the handler answered with more than ${maxBodyLength} characters`);
  return { status, headers: { 'content-type': 'application/json', ...given }, body: text };
}

function headersOf(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  if (entries.length > maxHeaders) throw new TypeError(`the handler answered with more than ${maxHeaders} headers`);
  for (const [name, value] of entries) {
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name) || name === '__proto__')
      throw new TypeError(`the handler answered with an invalid header name: ${name.slice(0, 60)}`);
    if (reserved.has(name)) throw new TypeError(`the handler set the header ${name}, which a handler must not set`);
    if (typeof value !== 'string' || value.length > maxHeaderLength || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new TypeError(`the handler gave the header ${name} an invalid value`);
  }
  const names = entries.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new TypeError(`the handler set the header ${twice} twice`);
  return Object.fromEntries(entries);
}

function jsonOf(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined)
    throw new TypeError(`the handler answered with a ${typeof value}, which JSON cannot represent`);
  return text;
}
