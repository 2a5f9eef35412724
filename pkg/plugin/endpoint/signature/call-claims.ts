import { createHash, randomBytes, sign, verify, type KeyObject } from 'node:crypto';

/** The header of a request that one process of the platform sends to another. */
export const signatureHeader = 'x-svc-signature';

/** What a signature says; all else that is sent is in the body, and so in its digest. */
export interface CallClaims {
  /** Name of the Lease that holds the public key. */
  key: string;
  /** URL of the host that it is for, as the status of the plugin gives it. */
  host: string;
  /** Method and path of the very request: `POST /plugin-endpoints/blog/publishPost`. */
  target: string;
  /** SHA-256 of the body, base64url. */
  digest: string;
  /**
   * Who asks, cut where the name is long: whose share of the host's memory it takes, before the body is there. Absent
   * where the sender is of an earlier build.
   */
  user?: string;
  /** Milliseconds since 1970, by the sender's clock. */
  time: number;
  /** 16 random bytes, base64url; never used again. */
  nonce: string;
}

/** A signature as it came: whose and whether it is right is not known. */
export interface ReadSignature {
  claims: CallClaims;
  /** What was signed. */
  text: string;
  signature: Buffer;
}

const version = 'v1';
const form = /^v1\.([A-Za-z0-9_-]{1,2000})\.([A-Za-z0-9_-]{86})$/;
/** Signed too, so that no signature made for another purpose is one of these. */
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
 * The header's value: `v1.<claims>.<signature>`, both base64url; signed are the first two parts as they stand there.
 */
export function formatSignature(claims: CallClaims, privateKey: KeyObject): string {
  const text = `${version}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${text}.${sign(null, Buffer.from(purpose + text), privateKey).toString('base64url')}`;
}

/** Undefined for anything but the one way to write claims of these types. */
export function readSignature(header: string): ReadSignature | undefined {
  const match = form.exec(header);
  if (match === null) return undefined;
  const signature = Buffer.from(match[2]!, 'base64url');
  // Its last character has bits that mean nothing.
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
