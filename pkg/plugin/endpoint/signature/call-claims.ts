import { createHash, randomBytes, sign, verify, type KeyObject } from 'node:crypto';

/** The header with the signature of a request between two processes of the platform. */
export const signatureHeader = 'x-svc-signature';

/** The content of a signature; the digest covers everything else in the body. */
export interface CallClaims {
  /** Name of the Lease with the public key. */
  key: string;
  /** URL of the receiving host, as the status of the plugin gives it. */
  host: string;
  /** Method and path of this request: `POST /plugin-endpoints/blog/publishPost`. */
  target: string;
  /** SHA-256 of the body, base64url. */
  digest: string;
  /**
   * The caller, truncated if the name is long. The host counts the memory of the call against it before it has read the
   * body. Absent if the sender runs an earlier build.
   */
  user?: string;
  /** Milliseconds since 1970, by the sender's clock. */
  time: number;
  /** 16 random bytes, base64url; used once. */
  nonce: string;
}

/** A parsed signature that is not verified yet. */
export interface ReadSignature {
  claims: CallClaims;
  /** The signed text. */
  text: string;
  signature: Buffer;
}

const version = 'v1';
const form = /^v1\.([A-Za-z0-9_-]{1,2000})\.([A-Za-z0-9_-]{86})$/;
/** Part of the signed text, so that a signature made for another purpose is not valid here. */
const purpose = 'svc-endpoint-call:';
const maxUserLength = 128;

export function newClaims({
  key,
  host,
  target,
  body,
  user,
  time,
}: Pick<CallClaims, 'key' | 'host' | 'target' | 'user' | 'time'> & { body: Uint8Array }): CallClaims {
  return {
    key,
    host,
    target,
    digest: bodyDigest(body),
    ...(user === undefined ? {} : { user: user.slice(0, maxUserLength) }),
    time,
    nonce: randomBytes(16).toString('base64url'),
  };
}

export function bodyDigest(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}

/**
 * The header's value: `v1.<claims>.<signature>`, both base64url; the signature covers the first two parts as written.
 */
export function formatSignature(claims: CallClaims, privateKey: KeyObject): string {
  const text = `${version}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${text}.${sign(null, Buffer.from(purpose + text), privateKey).toString('base64url')}`;
}

/** Undefined unless it is the canonical encoding of claims of these types. */
export function readSignature(header: string): ReadSignature | undefined {
  const match = form.exec(header);
  if (match === null) return undefined;
  const signature = Buffer.from(match[2]!, 'base64url');
  // The last character of base64url has unused bits.
  if (signature.toString('base64url') !== match[2]) return undefined;
  const claims = readClaims(Buffer.from(match[1]!, 'base64url').toString());
  return claims === undefined ? undefined : { claims, text: `${version}.${match[1]}`, signature };
}

export function isSignedBy({ text, signature }: ReadSignature, publicKey: KeyObject): boolean {
  return verify(null, Buffer.from(purpose + text), publicKey, signature);
}

function readClaims(text: string): CallClaims | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { key, host, target, digest, user, time, nonce } = value as Partial<Record<keyof CallClaims, unknown>>;
  if (
    typeof key !== 'string' ||
    typeof host !== 'string' ||
    typeof target !== 'string' ||
    typeof digest !== 'string' ||
    typeof nonce !== 'string' ||
    nonce.length !== 22
  )
    return undefined;
  if (user !== undefined && typeof user !== 'string') return undefined;
  return typeof time === 'number' && Number.isSafeInteger(time)
    ? { key, host, target, digest, ...(user === undefined ? {} : { user }), time, nonce }
    : undefined;
}
