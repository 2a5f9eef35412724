import { parseAuthorizationParameters, type AuthorizationParameter } from './authorization-parameters.ts';
import { coveredDigests } from './body-digest.ts';
import { parseHttpDate } from './http-date.ts';
import { isKeyId, type SignatureClaim } from './signature-claim.ts';
import { headerValues, joinLines, type SignedMessage } from './signed-message.ts';
import { decodeBase64 } from './strict-base64.ts';

type Parameters = ReadonlyMap<string, AuthorizationParameter>;

/** hmac-sha1 is refused as weak; RSA signatures cannot be checked with a shared secret. */
const algorithms: ReadonlyMap<string, SignatureClaim['algorithm']> = new Map([
  ['hmac-sha256', 'sha256'],
  ['hmac-sha512', 'sha512'],
  ['hs2019', 'sha512'],
]);

/**
 * The claim of `Authorization: Signature <credentials>`; undefined if it cannot be parsed, signs too little, or signs
 * something that was not sent. Checks neither times (the clock only completes a year of two digits) nor keys. Source:
 * draft-cavage-http-signatures-12.
 */
export function readDraftSignature(
  credentials: string,
  message: SignedMessage,
  now = Date.now(),
): SignatureClaim | undefined {
  const parameters = parseAuthorizationParameters(credentials);
  const keyId = parameters?.get('keyid')?.value;
  const algorithm = algorithms.get((parameters?.get('algorithm')?.value ?? 'hmac-sha256').toLowerCase());
  const signature = parameters?.get('signature');
  if (parameters === undefined || !isKeyId(keyId) || algorithm === undefined || signature?.isQuoted !== true)
    return undefined;
  const bytes = decodeBase64(signature.value);
  if (bytes?.length !== (algorithm === 'sha256' ? 32 : 64)) return undefined;

  const names = (parameters.get('headers')?.value ?? 'date').split(' ');
  const covered = new Set(names);
  if (covered.size !== names.length || !covered.has('(request-target)') || !covered.has('date')) return undefined;
  const headers = headerValues(message);
  const base = draftSigningString(names, { message, headers, parameters });
  const date = parseHttpDate(headers.get('date') ?? '', now);
  const [created, expires] = [secondsOf(parameters, 'created'), secondsOf(parameters, 'expires')];
  const digests = coveredDigests(covered, headers);
  if (
    base === undefined ||
    date === undefined ||
    digests === undefined ||
    created === 'unreadable' ||
    expires === 'unreadable'
  )
    return undefined;
  return {
    keyId: keyId.toLowerCase(),
    algorithm,
    signature: bytes,
    base,
    times: created === undefined ? [date] : [date, created],
    expires,
    digests,
    isSingleUse: digests.length > 0,
  };
}

interface DraftSource {
  readonly message: SignedMessage;
  readonly headers: ReadonlyMap<string, string>;
  readonly parameters: Parameters;
}

/** The bytes to sign: a line for each of these names, in this order; undefined if one was not sent. */
export function draftSigningString(names: readonly string[], source: DraftSource): Buffer | undefined {
  const lines: string[] = [];
  for (const name of names) {
    const value = valueOf(name, source);
    if (value === undefined) return undefined;
    lines.push(`${name}: ${value}`);
  }
  return joinLines(lines);
}

function valueOf(name: string, { message, headers, parameters }: DraftSource): string | undefined {
  if (name === '(request-target)') return `${message.method.toLowerCase()} ${message.target}`;
  if (name !== '(created)' && name !== '(expires)') return headers.get(name);
  // The draft permits these two with hs2019 only, among our algorithms.
  return parameters.get('algorithm')?.value.toLowerCase() === 'hs2019'
    ? parameters.get(name.slice(1, -1))?.value
    : undefined;
}

/** In milliseconds. */
function secondsOf(parameters: Parameters, name: 'created' | 'expires'): number | undefined | 'unreadable' {
  const text = parameters.get(name)?.value;
  if (text === undefined) return undefined;
  return /^\d{1,12}$/.test(text) ? Number(text) * 1000 : 'unreadable';
}
