import { createHmac } from 'node:crypto';

/** Written from the published drafts without code of the verifier, so that a common mistake cannot hide. */
export interface UnsignedRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
}

export interface DraftOptions {
  keyId: string;
  secret: string;
  /** Signed headers, in this order. */
  names?: readonly string[];
  /** Parameter of the header; if left out, the header has none, which means hmac-sha256. */
  algorithm?: string;
}

/** The `Authorization` value of draft-cavage. */
export function signDraft(
  { method, target, headers }: UnsignedRequest,
  { keyId, secret, names = ['(request-target)', 'accept', 'date'], algorithm }: DraftOptions,
): string {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const lines = names.map((name) =>
    name === '(request-target)' ? `(request-target): ${method.toLowerCase()} ${target}` : `${name}: ${lower[name]}`,
  );
  const hash =
    algorithm === 'hmac-sha512' || algorithm === 'hs2019' ? 'sha512' : algorithm === 'hmac-sha1' ? 'sha1' : 'sha256';
  const signature = createHmac(hash, secret).update(lines.join('\n'), 'latin1').digest('base64');
  const said = algorithm === undefined ? '' : `algorithm="${algorithm}",`;
  return `Signature keyId="${keyId}",${said}headers="${names.join(' ')}",signature="${signature}"`;
}

export interface MessageOptions {
  keyId: string;
  secret: string;
  /** Scheme and authority. */
  origin: string;
  /** Seconds since 1970. */
  created: number;
  components?: readonly string[];
  /** Parameters after created and keyid: `;nonce="x"`. */
  more?: string;
}

/** The headers of RFC 9421. */
export function signMessage(
  { method, target, headers }: UnsignedRequest,
  {
    keyId,
    secret,
    origin,
    created,
    components = ['@method', '@target-uri'],
    more = ';alg="hmac-sha256"',
  }: MessageOptions,
): { 'Signature-Input': string; Signature: string } {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const url = new URL(origin + target);
  const derived: Record<string, string> = {
    '@method': method,
    '@target-uri': origin + target,
    '@authority': url.host,
    '@path': target.split('?', 1)[0]!,
    '@query': target.includes('?') ? target.slice(target.indexOf('?')) : '?',
  };
  const input = `(${components.map((name) => `"${name}"`).join(' ')});created=${created};keyid="${keyId}"${more}`;
  const lines = [
    ...components.map((name) => `"${name}": ${derived[name] ?? lower[name]}`),
    `"@signature-params": ${input}`,
  ];
  return {
    'Signature-Input': `sig1=${input}`,
    Signature: `sig1=:${createHmac('sha256', secret).update(lines.join('\n'), 'latin1').digest('base64')}:`,
  };
}
