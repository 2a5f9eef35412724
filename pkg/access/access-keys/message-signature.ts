import { coveredDigests } from './body-digest.ts';
import { isKeyId, type SignatureClaim } from './signature-claim.ts';
import { headerValues, joinLines, type SignedMessage } from './signed-message.ts';
import { formatInnerList, parseDictionary, type BareItem, type InnerList, type Item } from './structured-field.ts';

/** Types of the known parameters, by name. Other parameters are permitted, and signed too. */
const parameterKinds: Readonly<Record<string, BareItem['kind']>> = {
  created: 'integer',
  expires: 'integer',
  keyid: 'string',
  alg: 'string',
  nonce: 'string',
  tag: 'string',
};

/**
 * The claim of the headers `Signature-Input` and `Signature`; undefined if they cannot be parsed, sign too little, or
 * sign something that was not sent. There may be several signatures, as proxies sign too: exactly one must have a
 * `keyid` in the form of an access key's id. Component parameters (`;sf`, `;bs`, `;key`, `;req`, `;tr`) are not
 * supported; the standard then demands a refusal. Source: RFC 9421.
 */
export function readMessageSignature(message: SignedMessage): SignatureClaim | undefined {
  const headers = headerValues(message);
  const inputs = inputsOfKeys(headers) ?? [];
  const [label, input] = inputs.length === 1 ? inputs[0]! : [];
  if (label === undefined || input?.kind !== 'inner-list' || !hasKnownParameters(input)) return undefined;
  const signature = parseDictionary(headers.get('signature') ?? '')?.get(label);
  const bytes = signature?.kind === 'item' ? signature.item.value : undefined;
  if (!Buffer.isBuffer(bytes) || bytes.length !== 32) return undefined;

  const covered = new Set(input.items.map(({ item }) => item.value as string));
  const hasTarget = covered.has('@target-uri') || (covered.has('@path') && covered.has('@query'));
  const base = signatureBase(input, message);
  const digests = coveredDigests(covered, headers);
  const created = input.parameters.get('created')?.value as number | undefined;
  if (!covered.has('@method') || !hasTarget || base === undefined || digests === undefined || created === undefined)
    return undefined;
  const expires = input.parameters.get('expires')?.value as number | undefined;
  return {
    keyId: textOf(input.parameters.get('keyid'))!.toLowerCase(),
    algorithm: 'sha256',
    signature: bytes,
    base,
    times: [created * 1000],
    expires: expires === undefined ? undefined : expires * 1000,
    digests,
    isSingleUse: digests.length > 0 || input.parameters.has('nonce'),
  };
}

/** Does any of its signatures name an access key? True as well for a header that cannot be parsed. */
export function namesAccessKey(message: SignedMessage): boolean {
  return inputsOfKeys(headerValues(message))?.length !== 0;
}

function inputsOfKeys(headers: ReadonlyMap<string, string>): [string, Item | InnerList][] | undefined {
  const dictionary = parseDictionary(headers.get('signature-input') ?? '');
  return dictionary && Array.from(dictionary).filter(([, { parameters }]) => isKeyId(textOf(parameters.get('keyid'))));
}

/** The bytes to sign; undefined if a component is not a plain string, is unknown, is repeated or was not sent. */
export function signatureBase(input: InnerList, message: SignedMessage): Buffer | undefined {
  const headers = headerValues(message);
  const lines = new Map<string, string>();
  for (const { item, parameters } of input.items) {
    const value =
      item.kind === 'string' && parameters.size === 0 ? componentOf(item.value as string, message, headers) : undefined;
    if (value === undefined || lines.has(item.text)) return undefined;
    lines.set(item.text, `${item.text}: ${value}`);
  }
  return joinLines([...lines.values(), `"@signature-params": ${formatInnerList(input)}`]);
}

function componentOf(
  name: string,
  { method, target, origin }: SignedMessage,
  headers: ReadonlyMap<string, string>,
): string | undefined {
  const at = target.indexOf('?');
  switch (name) {
    case '@method':
      return method;
    case '@target-uri':
      return origin + target;
    case '@authority':
      return origin.slice(origin.indexOf('://') + 3);
    case '@path':
      return at === -1 ? target : target.slice(0, at);
    case '@query':
      return at === -1 ? '?' : target.slice(at);
    default:
      return headers.get(name);
  }
}

function hasKnownParameters({ parameters }: InnerList): boolean {
  const isRight = Object.entries(parameterKinds).every(([name, kind]) => (parameters.get(name)?.kind ?? kind) === kind);
  return isRight && (textOf(parameters.get('alg')) ?? 'hmac-sha256') === 'hmac-sha256';
}

function textOf(item: BareItem | undefined): string | undefined {
  return item?.kind === 'string' ? (item.value as string) : undefined;
}
