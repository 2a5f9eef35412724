import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isBodyOf } from './body-digest.ts';
import { readMessageSignature, signatureBase } from './message-signature.ts';
import { isSignedWith, type SignatureClaim } from './signature-claim.ts';
import type { SignedMessage } from './signed-message.ts';
import { parseDictionary, type InnerList } from './structured-field.ts';
import { signMessage, type MessageOptions, type UnsignedRequest } from './keytest/sign.ts';

const keyId = '0a0b0c0d-0000-4000-8000-00000000beef';
const secret = 'Zk3Qm8tYw1Bn5Vc7Xs9Ld2Hf4Gj6Kp0Ra8Te';
const origin = 'https://access.example.com';
const created = 1741104550;
const request: UnsignedRequest = {
  method: 'GET',
  target: '/api/v1/users/users/?limit=1',
  headers: { Accept: 'application/json' },
};

const messageOf = ({ method, target, headers }: UnsignedRequest, more: Record<string, string> = {}): SignedMessage => ({
  method,
  target,
  origin,
  rawHeaders: Object.entries({ ...headers, ...more }).flat(),
});
const sign = (
  options: Partial<MessageOptions> = {},
  sent = request,
): { 'Signature-Input': string; Signature: string } =>
  signMessage(sent, { keyId, secret, origin, created, ...options });
const read = (options: Partial<MessageOptions> = {}, sent = request): SignatureClaim | undefined =>
  readMessageSignature(messageOf(sent, sign(options, sent)));
const holds = (claim: SignatureClaim | undefined): boolean => claim !== undefined && isSignedWith(claim, secret);

describe("the signature base is the standard's (RFC 9421, appendix B.2)", () => {
  const message: SignedMessage = {
    method: 'POST',
    target: '/foo?param=Value&Pet=dog',
    origin: 'http://example.com',
    rawHeaders: Object.entries({
      Host: 'example.com',
      Date: 'Tue, 20 Apr 2021 02:07:55 GMT',
      'Content-Type': 'application/json',
      'Content-Length': '18',
    }).flat(),
  };
  const baseOf = (input: string): Buffer =>
    signatureBase(parseDictionary(`sig=${input}`)!.get('sig') as InnerList, message)!;

  test('B.2.5, hmac-sha256', () => {
    const base = baseOf('("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"');
    const sharedSecret = Buffer.from(
      'uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==',
      'base64',
    );
    const claim = {
      algorithm: 'sha256',
      signature: Buffer.from('pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=', 'base64'),
      base,
    } as SignatureClaim;
    expect(isSignedWith(claim, sharedSecret)).toBe(true);
    expect(isSignedWith({ ...claim, base: Buffer.concat([base, Buffer.from('\n')]) }, sharedSecret)).toBe(false);
  });

  test('B.2.6, more components, by its public key', () => {
    const base = baseOf(
      '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    );
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' },
      format: 'jwk',
    });
    expect(
      verify(
        null,
        base,
        key,
        Buffer.from(
          'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==',
          'base64',
        ),
      ),
    ).toBe(true);
  });

  test.each([
    ['@method', 'POST'],
    ['@target-uri', 'http://example.com/foo?param=Value&Pet=dog'],
    ['@authority', 'example.com'],
    ['@path', '/foo'],
    ['@query', '?param=Value&Pet=dog'],
  ])('%s', (name, value) => {
    expect(baseOf(`("${name}")`).toString()).toBe(`"${name}": ${value}\n"@signature-params": ("${name}")`);
  });
});

describe('a valid signature', () => {
  const body = Buffer.from('{"a":1}');
  const digest = `sha-512=:${createHash('sha512').update(body).digest('base64')}:, md5=:abcd:`;
  test.each<[string, Partial<MessageOptions>]>([
    ['of method and target', {}],
    ['of path and query', { components: ['@query', '@path', '@method'] }],
    ['of headers and authority', { components: ['accept', '@authority', '@method', '@target-uri'] }],
    ['without an algorithm', { more: '' }],
    ['with a tag and unknown parameters', { more: ';tag="svc";x=1.5;y;z=:cHJl:' }],
  ])('%s', (_, options) => {
    const claim = read(options);
    expect(claim).toMatchObject({
      keyId,
      algorithm: 'sha256',
      times: [created * 1000],
      expires: undefined,
      isSingleUse: false,
    });
    expect(holds(claim)).toBe(true);
  });

  test('covers a path without a query', () => {
    expect(holds(read({ components: ['@method', '@path', '@query'] }, { ...request, target: '/api' }))).toBe(true);
  });

  test('is accepted with any spacing of its header, and next to signatures of proxies', () => {
    const { 'Signature-Input': input, Signature: signature } = sign();
    const spaced = input.replace('("@method" ', '(  "@method"   ').replace(';created', ';  created');
    const others = {
      'Signature-Input': `proxy=("@authority");created=1;keyid="edge";tag="web-bot-auth", ${spaced}`,
      Signature: `proxy=:AAAA:, ${signature}`,
    };
    expect(holds(readMessageSignature(messageOf(request, others)))).toBe(true);
  });

  test('with a digest or a nonce is valid for one request', () => {
    const sent = { ...request, method: 'POST', headers: { ...request.headers, 'Content-Digest': digest } };
    const claim = read({ components: ['@method', '@target-uri', 'content-digest'] }, sent)!;
    expect(holds(claim)).toBe(true);
    expect([claim.isSingleUse, isBodyOf(claim.digests, body), isBodyOf(claim.digests, Buffer.alloc(0))]).toEqual([
      true,
      true,
      false,
    ]);
    expect(read({ more: ';nonce="abc"' })).toMatchObject({ isSingleUse: true, digests: [] });
    expect(read({ more: `;expires=${created + 60}` })).toMatchObject({ expires: (created + 60) * 1000 });
  });
});

describe('an invalid signature', () => {
  const good = sign();
  const input = good['Signature-Input'];
  test.each<[string, Record<string, string>]>([
    ['no signature', { 'Signature-Input': input }],
    ['no input', { Signature: good.Signature }],
    ['a signature of another label', { ...good, Signature: good.Signature.replace('sig1', 'sig2') }],
    ['a signature as text', { ...good, Signature: good.Signature.replaceAll(':', '"') }],
    ['a short signature', { ...good, Signature: 'sig1=:AAAA:' }],
    ['a list of signatures', { ...good, Signature: good.Signature.replace('=:', '=(:').replace(/$/, ')') }],
    [
      'two of our keys',
      {
        'Signature-Input': `${input}, ${input.replace('sig1', 'sig2')}`,
        Signature: `${good.Signature}, ${good.Signature.replace('sig1', 'sig2')}`,
      },
    ],
    ['a label twice', { 'Signature-Input': `${input}, ${input}`, Signature: good.Signature }],
    ['no list', { ...good, 'Signature-Input': `sig1="@method";created=${created};keyid="${keyId}"` }],
    ['a comma at the end', { ...good, 'Signature-Input': `${input},` }],
    ['nothing', { ...good, 'Signature-Input': '' }],
    ['a key that is not an id', sign({ keyId: 'admin' })],
    ['no creation', { ...good, 'Signature-Input': input.replace(/created=\d+;/, '') }],
    ['a creation in words', { ...good, 'Signature-Input': input.replace(/created=\d+/, 'created="now"') }],
    ['a creation in fractions', { ...good, 'Signature-Input': input.replace(/created=\d+/, '$&.5') }],
    ['an expiry in words', sign({ more: ';expires="never"' })],
    ['a nonce that is not text', sign({ more: ';nonce=1' })],
    ['another algorithm', sign({ more: ';alg="hmac-sha512"' })],
    ['RSA', sign({ more: ';alg="rsa-pss-sha512"' })],
    ['an algorithm as a token', sign({ more: ';alg=hmac-sha256' })],
    ['no method', sign({ components: ['@target-uri'] })],
    ['no target', sign({ components: ['@method'] })],
    ['the path only', sign({ components: ['@method', '@path'] })],
    ['the query only', sign({ components: ['@method', '@query', '@authority'] })],
    ['a header that was not sent', sign({ components: ['@method', '@target-uri', 'x-svc-org'] })],
    ['an upper-case name', sign({ components: ['@method', '@target-uri', 'Accept'] })],
    ['a component twice', sign({ components: ['@method', '@method', '@target-uri'] })],
    ['an unknown component', sign({ components: ['@method', '@target-uri', '@status'] })],
    ['itself', sign({ components: ['@method', '@target-uri', '@signature-params'] })],
    ['a component with parameters', { ...good, 'Signature-Input': input.replace('"@method"', '"@method";req') }],
    ['a component as a token', { ...good, 'Signature-Input': input.replace('"@method"', '"@method" accept') }],
    [
      'a malformed digest',
      { ...sign({ components: ['@method', '@target-uri', 'content-digest'] }), 'Content-Digest': 'sha-256=abc' },
    ],
    [
      'an insecure digest',
      { ...sign({ components: ['@method', '@target-uri', 'content-digest'] }), 'Content-Digest': 'md5=:YWJj:' },
    ],
    [
      'a digest that is a list',
      {
        ...sign({ components: ['@method', '@target-uri', 'content-digest'] }),
        'Content-Digest': `sha-256=(:${Buffer.alloc(32).toString('base64')}:)`,
      },
    ],
  ])('%s', (_, headers) => {
    expect(readMessageSignature(messageOf(request, headers))).toBeUndefined();
  });
});

test('any single change of what was signed fails', () => {
  const all = ['@method', '@target-uri', '@authority', '@path', '@query', 'accept'];
  const signed = { ...request, ...sign({ components: all }) };
  const message = messageOf(request, { 'Signature-Input': signed['Signature-Input'], Signature: signed.Signature });
  expect(holds(readMessageSignature(message))).toBe(true);
  const texts: Record<string, string> = {
    method: message.method,
    target: message.target,
    origin: message.origin,
    Accept: request.headers['Accept']!,
    'Signature-Input': signed['Signature-Input'],
    Signature: signed.Signature,
    secret,
  };
  const letter = fc.constantFrom(...Array.from('abcXYZ0189/?&=%-_.~+:"();, '));
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(texts)), fc.nat(), letter, fc.boolean(), (part, at, by, isInserted) => {
      const text = texts[part]!;
      const index = at % text.length;
      const changed = text.slice(0, index) + by + text.slice(index + (isInserted ? 0 : 1));
      fc.pre(changed !== text);
      const altered =
        part in message
          ? { ...message, [part]: changed }
          : {
              ...message,
              rawHeaders: message.rawHeaders.map((value, i) =>
                i % 2 === 1 && message.rawHeaders[i - 1] === part ? changed : value,
              ),
            };
      const claim = readMessageSignature(altered);
      // A space within a header, or a zero before a number, does not change its meaning.
      const isNone = part.startsWith('Signature') && (by === ' ' || changed.includes('created=0'));
      if (!isNone) expect(claim !== undefined && isSignedWith(claim, part === 'secret' ? changed : secret)).toBe(false);
    }),
    { numRuns: 2000 },
  );
});
