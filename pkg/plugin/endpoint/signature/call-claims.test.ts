import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { bodyDigest, formatSignature, isSignedBy, newClaims, readSignature } from './call-claims.ts';
import { formatPublicKey, parsePublicKey } from './identity-lease.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const claims = newClaims({
  key: 'svc-apiserver-1',
  host: 'http://a:1',
  target: 'POST /plugin-endpoints/blog/op',
  body: Buffer.from('x'),
  time: 1_800_000_000_000,
});
const header = formatSignature(claims, privateKey);

function isGood(text: string): boolean {
  const read = readSignature(text);
  return read !== undefined && isSignedBy(read, publicKey);
}

test('a signature is parsed as it was formatted', () => {
  expect(readSignature(header)?.claims).toEqual(claims);
  expect(isGood(header)).toBe(true);
  expect(claims.digest).toBe('LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE');
});

test('it may name the user, with a long name cut', () => {
  const named = newClaims({ ...claims, body: Buffer.from('x'), user: 'ada'.repeat(100) });
  expect(readSignature(formatSignature(named, privateKey))?.claims).toEqual(named);
  expect(named.user).toHaveLength(128);
});

test('with any bit flipped it is malformed, or not valid for this key', () => {
  const bytes = Buffer.from(header, 'latin1');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    if (isGood(flipped.toString('latin1'))) throw new Error(`bit ${bit} means nothing`);
  }
});

test('with a piece cut out, added or moved it is invalid too', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: header.length }),
      fc.nat({ max: 40 }),
      fc.string({ maxLength: 5 }),
      (at, length, added) => {
        const changed = header.slice(0, at) + added + header.slice(at + length);
        expect(isGood(changed)).toBe(changed === header);
      },
    ),
    { numRuns: 300 },
  );
});

test('of other claims or another key it is invalid too', () => {
  const other = generateKeyPairSync('ed25519');
  const [version, , signature] = header.split('.');
  expect(isGood(formatSignature(claims, other.privateKey))).toBe(false);
  for (const change of [
    { host: 'http://b:1' },
    { target: 'POST /plugin-endpoints/blog/other' },
    { time: claims.time + 1 },
    { digest: bodyDigest(Buffer.from('y')) },
    { key: 'svc-apiserver-2' },
  ]) {
    const text = Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url');
    expect(isGood(`${version}.${text}.${signature}`)).toBe(false);
  }
});

test.each([
  ['nothing', ''],
  ['no version', header.slice(3)],
  ['another version', header.replace('v1', 'v2')],
  ['two of them, as a header given twice', `${header}, ${header}`],
  ['padding', `${header}==`],
  ['white space', ` ${header}`],
  ['a line feed', `${header}\n`],
  ['no JSON', signed('{')],
  ['null', signed('null')],
  ['a list', signed('[]')],
  ['too few claims', signed('{"key":"a"}')],
  ['claims of other types', signed(JSON.stringify({ ...claims, key: {} }))],
  ['no host', signed(JSON.stringify({ ...claims, host: undefined }))],
  ['a time that is not an integer', signed(JSON.stringify({ ...claims, time: 1.5 }))],
  ['a short nonce', signed(JSON.stringify({ ...claims, nonce: 'a' }))],
  ['kilobytes', signed(JSON.stringify({ ...claims, target: 'x'.repeat(5000) }))],
])('%s is not a signature', (_reason, text) => {
  expect(readSignature(text)).toBeUndefined();
});

function signed(text: string): string {
  return `v1.${Buffer.from(text).toString('base64url')}.${'A'.repeat(86)}`;
}

test('a public key is parsed from its text; another text is refused', () => {
  expect(formatPublicKey(parsePublicKey(formatPublicKey(publicKey))!)).toBe(formatPublicKey(publicKey));
  for (const text of ['', 'x', 'A'.repeat(42), '\u0000'.repeat(43), 'A'.repeat(5000)])
    expect(parsePublicKey(text)).toBeUndefined();
});
