import { createHmac, timingSafeEqual } from 'node:crypto';
import type { BodyDigest } from './body-digest.ts';

/** What a signed request claims: that its sender has the key's secret. */
export interface SignatureClaim {
  /** Id of an access key, in lower case. */
  readonly keyId: string;
  readonly algorithm: 'sha256' | 'sha512';
  /** Has the length of the algorithm's signatures. */
  readonly signature: Buffer;
  /** The bytes that it claims to sign. */
  readonly base: Buffer;
  /** Signed times of creation, in milliseconds since 1970; each is checked. */
  readonly times: readonly number[];
  /** Milliseconds since 1970. */
  readonly expires: number | undefined;
  /** Signed digests of the body; each must match it. */
  readonly digests: readonly BodyDigest[];
  /** May it be used only once? False without a digest or nonce: two valid requests within a second may be identical. */
  readonly isSingleUse: boolean;
}

const keyIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Replaces a claim that cannot be parsed, so that both cost the same work. It is always refused, whatever its
 * signature.
 */
export const unreadableClaim: SignatureClaim = {
  keyId: '00000000-0000-0000-0000-000000000000',
  algorithm: 'sha256',
  signature: Buffer.alloc(32),
  base: Buffer.alloc(0),
  times: [],
  expires: 0,
  digests: [],
  isSingleUse: false,
};

/** Is it in the form of an access key's id? */
export function isKeyId(text: string | undefined): text is string {
  return text !== undefined && keyIdForm.test(text);
}

/** Was it signed with this secret? In constant time. */
export function isSignedWith({ algorithm, signature, base }: SignatureClaim, secret: string | Buffer): boolean {
  const expected = createHmac(algorithm, secret).update(base).digest();
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

/** Are its times within `maxSkewMs` of now (0: any time), and has it not expired? */
export function isTimely(
  { times, expires }: SignatureClaim,
  { now, maxSkewMs }: { now: number; maxSkewMs: number },
): boolean {
  if (expires !== undefined && expires <= now) return false;
  return maxSkewMs === 0 || times.every((time) => Math.abs(now - time) <= maxSkewMs);
}
