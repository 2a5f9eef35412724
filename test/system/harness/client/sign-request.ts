import { createHmac } from 'node:crypto';

export interface AccessKey {
  readonly id: string;
  readonly secret: string;
}

/** A request to which headers are added. */
export interface SignableRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Record<string, string | readonly string[]>;
}

const staleMs = 3_600_000;
const otherTarget = '/api/v1/users/profile/?of=another';

/**
 * An independent implementation of draft-cavage-http-signatures and contract access-api.md, section 4; `fault` is its
 * deliberate mistake.
 */
export function signDraft(request: SignableRequest, { id, secret }: AccessKey, fault?: string): void {
  const date = new Date(Date.now() - (fault === 'stale date' ? staleMs : 0)).toUTCString();
  const method = fault === 'other method' ? 'options' : request.method.toLowerCase();
  const values: Record<string, string> = {
    '(request-target)': `${method} ${fault === 'other target' ? otherTarget : request.target}`,
    accept: 'application/json',
    date,
  };
  const names = ['(request-target)', 'accept', 'date'].filter(
    (name) =>
      !(fault === 'no request-target' && name === '(request-target)') && !(fault === 'no date' && name === 'date'),
  );
  const algorithm = fault === 'hmac-sha1' ? 'sha1' : 'sha256';
  const signature = hmac(algorithm, secret, names.map((name) => `${name}: ${values[name]}`).join('\n'));
  const parameters = [
    `keyId="${id}"`,
    `algorithm="hmac-${algorithm}"`,
    `headers="${names.join(' ')}"`,
    `signature="${signature}"`,
    ...(fault === 'parameter twice' ? [`keyId="${id}"`] : []),
  ];
  const authorization = fault === 'no parameters' ? 'Signature' : `Signature ${parameters.join(',')}`;
  Object.assign(request.headers, {
    Accept: 'application/json',
    Date: date,
    Authorization: fault === 'sent twice' ? [authorization, authorization] : authorization,
  });
}

/** The same for RFC 9421. */
export function signMessage(request: SignableRequest, { id, secret }: AccessKey, fault?: string): void {
  const [path = '', query = ''] = (fault === 'other target' ? otherTarget : request.target).split('?');
  const values: Record<string, string> = { '@method': request.method, '@path': path, '@query': `?${query}` };
  const names = Object.keys(values).filter((name) =>
    fault === 'no method' ? name !== '@method' : fault === 'no target' ? name === '@method' : true,
  );
  const created = Math.floor((Date.now() - (fault === 'stale' ? staleMs : 0)) / 1000);
  const parameters = `(${names.map((name) => `"${name}"`).join(' ')});created=${created};keyid="${id}";alg="hmac-sha256"`;
  const base = [...names.map((name) => `"${name}": ${values[name]}`), `"@signature-params": ${parameters}`].join('\n');
  Object.assign(request.headers, {
    'Signature-Input': `sig1=${parameters}`,
    Signature: `sig1=:${hmac('sha256', secret, base)}:`,
  });
}

function hmac(algorithm: string, secret: string, text: string): string {
  return createHmac(algorithm, secret).update(text).digest('base64');
}
