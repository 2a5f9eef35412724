import { hash, timingSafeEqual } from 'node:crypto';
import { decodeBase64 } from './strict-base64.ts';
import { parseDictionary } from './structured-field.ts';

/** A signed digest of the request's body. */
export interface BodyDigest {
  readonly algorithm: 'sha256' | 'sha512';
  readonly value: Buffer;
}

const algorithms: ReadonlyMap<string, BodyDigest['algorithm']> = new Map([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
]);

/**
 * Reads a `Digest` header: `SHA-256=<base64>, SHA-512=<base64>`. Ignores weak algorithms such as MD5. Undefined if it
 * cannot be parsed or holds no other digest. Source: RFC 3230.
 */
export function readDigest(header: string): BodyDigest[] | undefined {
  return trusted(
    header.split(',').map((part) => {
      const [, name, text] = /^([A-Za-z0-9-]+)=(.*)$/.exec(part.trim()) ?? [];
      return name === undefined ? undefined : { name: name.toLowerCase(), value: decodeBase64(text!) };
    }),
  );
}

/** Reads a `Content-Digest` header: `sha-256=:<base64>:`. Undefined as for `readDigest`. Source: RFC 9530. */
export function readContentDigest(header: string): BodyDigest[] | undefined {
  const members = parseDictionary(header);
  if (members === undefined) return undefined;
  return trusted(
    Array.from(members, ([name, member]) => ({
      name,
      value: member.kind === 'item' && Buffer.isBuffer(member.item.value) ? member.item.value : undefined,
    })),
  );
}

/** The body's digests in signed `Digest` and `Content-Digest` headers; undefined if one cannot be parsed. */
export function coveredDigests(
  covered: ReadonlySet<string>,
  headers: ReadonlyMap<string, string>,
): BodyDigest[] | undefined {
  const older = covered.has('digest') ? readDigest(headers.get('digest') ?? '') : [];
  const newer = covered.has('content-digest') ? readContentDigest(headers.get('content-digest') ?? '') : [];
  return older === undefined || newer === undefined ? undefined : [...older, ...newer];
}

/** Do all of the digests match this body? */
export function isBodyOf(digests: readonly BodyDigest[], body: Buffer): boolean {
  return digests.every(({ algorithm, value }) => timingSafeEqual(value, hash(algorithm, body, 'buffer')));
}

function trusted(
  parts: readonly ({ name: string; value: Buffer | undefined } | undefined)[],
): BodyDigest[] | undefined {
  const digests: BodyDigest[] = [];
  for (const part of parts) {
    if (part === undefined) return undefined;
    const algorithm = algorithms.get(part.name);
    if (algorithm === undefined) continue;
    if (part.value?.length !== (algorithm === 'sha256' ? 32 : 64)) return undefined;
    digests.push({ algorithm, value: part.value });
  }
  return digests.length === 0 ? undefined : digests;
}
