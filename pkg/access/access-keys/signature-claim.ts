import { createHmac, timingSafeEqual } from 'node:crypto';
import type { BodyDigest } from './body-digest.ts';

/** What a request claims by its signature: that whoever has the key's secret made it. */
export interface SignatureClaim {
  /** Of an access key, in lower case. */
  readonly keyId: string;
  readonly algorithm: 'sha256' | 'sha512';
  /** As long as the algorithm's. */
  readonly signature: Buffer;
  /** The bytes it is said to sign. */
  readonly base: Buffer;
  /** When it was made, by what is signed; milliseconds since 1970. With several times each must hold. */
  readonly times: readonly number[];
  /** Milliseconds since 1970. */
  readonly expires: number | undefined;
  /** Signed digests of the body: each must be the body's. */
  readonly digests: readonly BodyDigest[];
  /** Does it serve one request only? Without a digest or a nonce two honest requests within a second look alike. */
  readonly isOnce: boolean;
}

const keyIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Stands for a claim that cannot be read, so that it meets the same work as one that can. It is never to be believed,
 * whatever its signature.
 */
export const unreadableClaim: SignatureClaim = {
  keyId: '00000000-0000-0000-0000-000000000000',
  algorithm: 'sha256',
  signature: Buffer.alloc(32),
  base: Buffer.alloc(0),
  times: [],
  expires: 0,
  digests: [],
  isOnce: false,
};

/** Could it be the id of an access key? */
export function isKeyId(text: string | undefined): text is string {
  return text !== undefined && keyIdForm.test(text);
}

/** Did somebody who has the secret sign it? In constant time. */
export function isSignedWith({ algorithm, signature, base }: SignatureClaim, secret: string | Buffer): boolean {
  const expected = createHmac(algorithm, secret).update(base).digest();
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

/** Was it made at most `maxSkewMs` ago or ahead (0: whenever), and has it not expired? */
export function isTimely(
  { times, expires }: SignatureClaim,
  { now, maxSkewMs }: { now: number; maxSkewMs: number },
): boolean {
  if (expires !== undefined && expires <= now) return false;
  return maxSkewMs === 0 || times.every((time) => Math.abs(now - time) <= maxSkewMs);
}
