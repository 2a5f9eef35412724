import { createHash, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isBodyOf } from './body-digest.ts';
import { draftSigningString, readDraftSignature } from './draft-signature.ts';
import { isSignedWith, isTimely, type SignatureClaim } from './signature-claim.ts';
import { headerValues, type SignedMessage } from './signed-message.ts';
import { signDraft, type DraftOptions, type UnsignedRequest } from './keytest/sign.ts';

const keyId = '0a0b0c0d-0000-4000-8000-00000000beef';
const secret = 'Zk3Qm8tYw1Bn5Vc7Xs9Ld2Hf4Gj6Kp0Ra8Te';
const date = 'Tue, 04 Mar 2025 16:09:10 GMT';
const request: UnsignedRequest = {
  method: 'GET',
  target: '/api/v1/users/users/?limit=1',
  headers: { Accept: 'application/json', Date: date },
};

const messageOf = ({ method, target, headers }: UnsignedRequest): SignedMessage => ({
  method,
  target,
  origin: 'http://localhost',
  rawHeaders: Object.entries(headers).flat(),
});
/** Reads the header's value without its scheme. */
const read = (authorization: string, sent: UnsignedRequest = request): SignatureClaim | undefined =>
  readDraftSignature(authorization.replace(/^Signature /, ''), messageOf(sent));
const sign = (options: Partial<DraftOptions> = {}, sent: UnsignedRequest = request): string =>
  signDraft(sent, { keyId, secret, ...options });
const holds = (claim: SignatureClaim | undefined): boolean => claim !== undefined && isSignedWith(claim, secret);

describe("the signing string is the draft's (Appendix C, signed with its RSA key)", () => {
  const publicKey = `-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDCFENGw33yGihy92pDjZQhl0C3
6rPJj+CvfSC8+q28hxA161QFNUd13wuCTUcq0Qd2qsBe/2hFyc2DCJJg0h1L78+6
Z4UMR7EOcpfdUE9Hf3m/hs+FUR45uBJeDK1HSFHD8bHKD6kv8FPGfJTotc+2xjJw
oYi+1hqp1fIekaxsyQIDAQAB
-----END PUBLIC KEY-----`;
  const body = Buffer.from('{"hello": "world"}');
  const message = (weekday: string): SignedMessage =>
    messageOf({
      method: 'POST',
      target: '/foo?param=value&pet=dog',
      headers: {
        Host: 'example.com',
        Date: `${weekday}, 05 Jan 2014 21:31:40 GMT`,
        'Content-Type': 'application/json',
        Digest: `SHA-256=${createHash('sha256').update(body).digest('base64')}`,
        'Content-Length': '18',
      },
    });

  test.each([
    [
      'Thu',
      ['date'],
      'jKyvPcxB4JbmYY4mByyBY7cZfNl4OW9HpFQlG7N4YcJPteKTu4MWCLyk+gIr0wDgqtLWf9NLpMAMimdfsH7FSWGfbMFSrsVTHNTk0rK3usrfFnti1dxsM4jl0kYJCKTGI/UWkqiaxwNiKqGcdlEDrTcUhhsFsOIo8VhddmZTZ8w=',
    ],
    [
      'Sun',
      ['date'],
      'SjWJWbWN7i0wzBvtPl8rbASWz5xQW6mcJmn+ibttBqtifLN7Sazz6m79cNfwwb8DMJ5cou1s7uEGKKCs+FLEEaDV5lp7q25WqS+lavg7T8hc0GppauB6hbgEKTwblDHYGEtbGmtdHgVCk9SuS13F0hZ8FD0k/5OxEPXe5WozsbM=',
    ],
    [
      'Thu',
      ['(request-target)', 'host', 'date'],
      'HUxc9BS3P/kPhSmJo+0pQ4IsCo007vkv6bUm4Qehrx+B1Eo4Mq5/6KylET72ZpMUS80XvjlOPjKzxfeTQj4DiKbAzwJAb4HX3qX6obQTa00/qPDXlMepD2JtTw33yNnm/0xV7fQuvILN/ys+378Ysi082+4xBQFwvhNvSoVsGv4=',
    ],
    [
      'Sun',
      ['(request-target)', 'host', 'date'],
      'qdx+H7PHHDZgy4y/Ahn9Tny9V3GP6YgBPyUXMmoxWtLbHpUnXS2mg2+SbrQDMCJypxBLSPQR2aAjn7ndmw2iicw3HMbe8VfEdKFYRqzic+efkb3nndiv/x1xSHDJWeSWkx3ButlYSuBskLu6kd9Fswtemr3lgdDEmn04swr2Os0=',
    ],
    [
      'Thu',
      ['(request-target)', 'host', 'date', 'content-type', 'digest', 'content-length'],
      'Ef7MlxLXoBovhil3AlyjtBwAL9g4TN3tibLj7uuNB3CROat/9KaeQ4hW2NiJ+pZ6HQEOx9vYZAyi+7cmIkmJszJCut5kQLAwuX+Ms/mUFvpKlSo9StS2bMXDBNjOh4Auj774GFj4gwjS+3NhFeoqyr/MuN6HsEnkvn6zdgfE2i0=',
    ],
    [
      'Sun',
      ['(request-target)', 'host', 'date', 'content-type', 'digest', 'content-length'],
      'vSdrb+dS3EceC9bcwHSo4MlyKS59iFIrhgYkz8+oVLEEzmYZZvRs8rgOp+63LEM3v+MFHB32NfpB2bEKBIvB1q52LaEUHFv120V01IL+TAD48XaERZFukWgHoBTLMhYS2Gb51gWxpeIq8knRmPnYePbF5MOkR0Zkly4zKH7s1dE=',
    ],
  ])('%s: %j', (weekday, names, signature) => {
    const sent = message(weekday);
    const base = draftSigningString(names, { message: sent, headers: headerValues(sent), parameters: new Map() });
    expect(verify('sha256', base!, publicKey, Buffer.from(signature, 'base64'))).toBe(true);
  });
});

describe('a valid signature', () => {
  const names = ['(request-target)', 'accept', 'date'];
  const value = (options: Partial<DraftOptions> = {}): string =>
    /signature="(.*)"$/.exec(sign({ names, ...options }))![1]!;
  test.each([
    ['as the documents show it', sign({ algorithm: 'hmac-sha256' })],
    ['of the request and its date only', sign({ names: ['(request-target)', 'date'] })],
    ['without an algorithm', sign()],
    ['names in another order', sign({ names: ['date', 'accept', '(request-target)'] })],
    ['hmac-sha512', sign({ algorithm: 'hmac-sha512' })],
    ['hs2019', sign({ algorithm: 'hs2019' })],
    ['the signature first', `Signature signature="${value()}",headers="${names.join(' ')}",keyId="${keyId}"`],
    [
      'spaces and tabs around commas',
      `Signature keyId="${keyId}" , headers="${names.join(' ')}",\t signature="${value()}"`,
    ],
    [
      'bare values',
      `Signature keyId=${keyId},algorithm=hmac-sha256,headers="${names.join(' ')}",signature="${value()}"`,
    ],
    ['names in any letter case', `Signature KEYID="${keyId}",Headers="${names.join(' ')}",SIGNATURE="${value()}"`],
    [
      'the id and the algorithm in capitals',
      `Signature keyId="${keyId.toUpperCase()}",algorithm="HMAC-SHA256",headers="${names.join(' ')}",signature="${value()}"`,
    ],
    [
      'escaped letters',
      `Signature keyId="${keyId.replaceAll('-', String.raw`\-`)}",headers="${names.join(' ')}",signature="${value()}"`,
    ],
    [
      'unknown parameters',
      `Signature keyId="${keyId}",ext="a\\"b",opaque=1,headers="${names.join(' ')}",signature="${value()}"`,
    ],
  ])('%s', (_, authorization) => {
    const claim = read(authorization);
    expect(claim).toMatchObject({
      keyId,
      times: [Date.UTC(2025, 2, 4, 16, 9, 10)],
      expires: undefined,
      digests: [],
      isSingleUse: false,
    });
    expect(holds(claim)).toBe(true);
  });

  test('covers headers as they were sent: repeated, empty, in UTF-8', () => {
    const sent = {
      ...request,
      headers: { ...request.headers, 'X-Empty': '', 'X-Name': Buffer.from('Zoë', 'utf8').toString('latin1') },
    };
    const signed = sign(
      { names: ['(request-target)', 'date', 'x-empty', 'x-name', 'x-many'] },
      { ...sent, headers: { ...sent.headers, 'x-many': 'a, b, ' } },
    );
    const rawHeaders = [...Object.entries(sent.headers).flat(), 'X-Many', 'a', 'x-many', 'b', 'X-MANY', ''];
    expect(holds(readDraftSignature(signed.replace('Signature ', ''), { ...messageOf(sent), rawHeaders }))).toBe(true);
  });

  test('covers its creation and expiry times, with the algorithm of that draft', () => {
    const more = 'created=1741104550,expires=1741104610';
    const headers = '(request-target) date (created) (expires)';
    const lines = { '(created)': '1741104550', '(expires)': '1741104610' };
    const signed = sign(
      { names: headers.split(' '), algorithm: 'hs2019' },
      { ...request, headers: { ...request.headers, ...lines } },
    );
    const claim = read(`${signed},${more}`);
    expect(holds(claim)).toBe(true);
    expect(claim).toMatchObject({ times: [Date.UTC(2025, 2, 4, 16, 9, 10), 1741104550_000], expires: 1741104610_000 });
    expect(read(`${signed.replace('hs2019', 'hmac-sha512')},${more}`)).toBeUndefined();
  });

  test('with a digest is valid for one body and one request', () => {
    const body = Buffer.from('{"a":1}');
    const of = (name: string): string => createHash(name).update(body).digest('base64');
    const signed = ['(request-target)', 'date', 'digest', 'content-digest'];
    const sent = {
      ...request,
      method: 'POST',
      headers: {
        ...request.headers,
        Digest: `MD5=abc, sha-256=${of('sha256')},SHA-512=${of('sha512')}`,
        'Content-Digest': `sha-256=:${of('sha256')}:`,
      },
    };
    const claim = read(sign({ names: signed }, sent), sent)!;
    expect(claim).toMatchObject({
      isSingleUse: true,
      digests: [{ algorithm: 'sha256' }, { algorithm: 'sha512' }, { algorithm: 'sha256' }],
    });
    expect([
      isBodyOf(claim.digests, body),
      isBodyOf(claim.digests, Buffer.from('{"a":2}')),
      isBodyOf(claim.digests, Buffer.alloc(0)),
    ]).toEqual([true, false, false]);
    // A digest that is not signed is ignored.
    expect(read(sign({}, sent), sent)).toMatchObject({ isSingleUse: false, digests: [] });
  });
});

describe('an invalid signature', () => {
  const good = sign({ algorithm: 'hmac-sha256' });
  const signature = /signature="(.*)"/.exec(good)![1]!;
  const without = (name: string): string =>
    good.replace(new RegExp(`,?${name}="[^"]*"`), '').replace('Signature ,', 'Signature ');
  test.each([
    ['nothing', 'Signature '],
    ['no keyId', without('keyId')],
    ['no signature', without('signature')],
    ['no headers, which means the date only', without('headers')],
    ['no request target', sign({ names: ['accept', 'date'] })],
    ['no date', sign({ names: ['(request-target)', 'accept'] })],
    ['a header that was not sent', sign({ names: ['(request-target)', 'date', 'x-svc-org'] })],
    ['a header named like a property of Object', sign({ names: ['(request-target)', 'date', 'constructor'] })],
    ['a name twice', sign({ names: ['(request-target)', 'date', 'date'] })],
    ['an upper-case name', good.replace('accept date', 'Accept Date')],
    ['two spaces between names', good.replace('accept date', 'accept  date')],
    ['no names', good.replace(/headers="[^"]*"/, 'headers=""')],
    ['a parameter twice', `${good},keyId="${keyId}"`],
    ['a parameter twice, in another letter case', `${good},KEYID="${keyId}"`],
    ['a comma at the end', `${good},`],
    ['two commas', good.replace(',', ',,')],
    ['a semicolon', good.replace(',', ';')],
    ['no quotes around the signature', good.replace(`"${signature}"`, signature)],
    ['an unclosed quote', good.slice(0, -1)],
    ['text after a quote', good.replace('",', '"x,')],
    ['spaces around =', good.replace('keyId=', 'keyId =')],
    ['a key that is not an id', good.replace(keyId, 'admin')],
    ['a key with a quote in it', good.replace(keyId, `${keyId}' OR ''='`)],
    ['an empty key', good.replace(keyId, '')],
    ['hmac-sha1', sign({ algorithm: 'hmac-sha1' })],
    ['rsa-sha256', good.replace('hmac-sha256', 'rsa-sha256')],
    ['an algorithm of JavaScript', good.replace('hmac-sha256', 'toString')],
    ['an empty algorithm', good.replace('hmac-sha256', '')],
    ['hmac-sha512 with a signature of 32 bytes', good.replace('hmac-sha256', 'hmac-sha512')],
    ['base64 without padding', good.replace(signature, signature.replace('=', ''))],
    ['base64 with too much padding', good.replace(signature, `${signature}=`)],
    ['base64 of URLs', good.replace(signature, `${'_'.repeat(43)}=`)],
    ['base64 that is not canonical', good.replace(signature, `${'A'.repeat(42)}B=`)],
    ['a space in base64', good.replace(signature, ` ${signature}`)],
    ['hex', good.replace(signature, 'ab'.repeat(32))],
    ['an empty signature', good.replace(signature, '')],
    ['created in words', `${good},created="now"`],
    ['expires in words', `${good},expires="1e99"`],
    [
      'the creation signed by an older algorithm',
      sign(
        { names: ['(request-target)', 'date', '(created)'] },
        { ...request, headers: { ...request.headers, '(created)': '1' } },
      ),
    ],
  ])('%s', (_, authorization) => {
    expect(read(authorization)).toBeUndefined();
  });

  test.each([
    ['empty', ''],
    ['MD5 only', 'MD5=1B2M2Y8AsgTpgAmY7PhCfg=='],
    ['no base64', 'SHA-256=!'],
    ['too short', 'SHA-256=YWJj'],
    ['hex', `SHA-256=${'ab'.repeat(32)}`],
    ['no name', `=${Buffer.alloc(32).toString('base64')}`],
    ['a comma at the end', `SHA-256=${Buffer.alloc(32).toString('base64')},`],
  ])('a signed digest that is %s', (_, digest) => {
    const sent = { ...request, headers: { ...request.headers, Digest: digest } };
    expect(read(sign({ names: ['(request-target)', 'date', 'digest'] }, sent), sent)).toBeUndefined();
  });

  test.each(['', 'yesterday', 'Tue, 04 Mar 2025 16:09:10 CST', `${date}, ${date}`])('a date that is %j', (value) => {
    const sent = { ...request, headers: { ...request.headers, Date: value } };
    expect(read(sign({}, sent), sent)).toBeUndefined();
  });

  test('a header value that contains a line break', () => {
    const split = { ...request, headers: { Accept: `x\ndate: ${date}`, Date: date } };
    expect(read(sign({}, split), split)).toBeUndefined();
  });
});

test('a signature is valid only for a limited time', () => {
  const claim = read(sign())!;
  const made = claim.times[0]!;
  const at = (now: number, maxSkewMs = 300_000, expires?: number): boolean =>
    isTimely({ ...claim, expires }, { now, maxSkewMs });
  expect([at(made), at(made - 300_000), at(made + 300_000), at(made - 300_001), at(made + 300_001)]).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect([at(made + 1e12, 0), at(made, 0, made), at(made, 300_000, made + 1)]).toEqual([true, false, true]);
});

describe('any single change of what was signed fails', () => {
  const letter = fc.constantFrom(...Array.from('abcXYZ019/?&=%-_.~+'));
  const text = (minLength: number): fc.Arbitrary<string> => fc.string({ unit: letter, minLength, maxLength: 20 });
  const sent = fc
    .record({
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
      target: text(0).map((rest) => `/${rest}`),
      accept: text(1),
      org: text(0),
    })
    .map(({ method, target, accept, org }): UnsignedRequest => ({
      method,
      target,
      headers: { Accept: accept, Date: date, 'X-SVC-ORG': org },
    }));
  const order = fc.shuffledSubarray(['(request-target)', 'accept', 'date', 'x-svc-org'], { minLength: 4 });
  const algorithm = fc.constantFrom(undefined, 'hmac-sha256', 'hmac-sha512', 'hs2019');
  /** Replaces, inserts or removes one character. */
  const change = fc.record({ at: fc.nat(), how: fc.constantFrom('replace', 'insert', 'remove'), by: letter });
  const changed = (value: string, { at, how, by }: { at: number; how: string; by: string }): string => {
    const index = at % (value.length + 1);
    return value.slice(0, index) + (how === 'remove' ? '' : by) + value.slice(index + (how === 'insert' ? 0 : 1));
  };

  test('method, target, headers, secret', () => {
    const part = fc.constantFrom('method', 'target', 'Accept', 'Date', 'X-SVC-ORG', 'secret');
    fc.assert(
      fc.property(sent, order, algorithm, part, change, (original, names, said, which, how) => {
        const options = { keyId, secret, names, ...(said === undefined ? {} : { algorithm: said }) };
        const credentials = signDraft(original, options).replace('Signature ', '');
        expect(isSignedWith(readDraftSignature(credentials, messageOf(original))!, secret)).toBe(true);
        const before = { ...original, ...original.headers, secret } as Record<string, unknown>;
        const after = changed(before[which] as string, how);
        fc.pre(
          after !== before[which] && !(which === 'method' && after.toLowerCase() === original.method.toLowerCase()),
        );
        const isHeader = which in original.headers;
        const altered = isHeader
          ? { ...original, headers: { ...original.headers, [which]: after } }
          : which === 'secret'
            ? original
            : { ...original, [which]: after };
        const claim = readDraftSignature(credentials, messageOf(altered));
        expect(claim !== undefined && isSignedWith(claim, which === 'secret' ? after : secret)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test('other letter case and additional parameters of the header change nothing', () => {
    const authorization = sign({ algorithm: 'hmac-sha256' }).replace('Signature ', '');
    fc.assert(
      fc.property(change, (how) => {
        const claim = readDraftSignature(changed(authorization, how), messageOf(request));
        // Some changes have no effect: of letter case, or of the name `algorithm` to an unknown one, which leaves the
        // default.
        if (claim?.keyId === keyId && isSignedWith(claim, secret)) expect(claim).toEqual(read(sign()));
      }),
      { numRuns: 2000 },
    );
  });
});

test('no header text causes an error', () => {
  const part = fc.constantFrom(
    'keyId',
    'algorithm',
    'headers',
    'signature',
    '=',
    '"',
    ',',
    ' ',
    '\\',
    keyId,
    'hmac-sha256',
    '(request-target) date',
    'ü',
    '\u0000',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 20 }), (parts) => read(parts.join('')) === undefined),
    { numRuns: 2000 },
  );
});
