import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';
import { redact, redactUri } from './redact.ts';

const secretNames = [
  'token password passwd secret secretKey privateKey apiKey accessKey credential credentials authorization cookie',
  'clientSecret accessToken id_token db_password db-passwd api-key api_key API_KEY APIKey apikey x-api-key ssh_private_key',
  'aws.secretKey awsAccessKey AUTHORIZATION Proxy-Authorization Set-Cookie userCredentials PASSWORD TOKEN',
  'example.com/token password2 oauth2Token kubectl.kubernetes.io/last-applied-configuration',
].flatMap((line) => line.split(' '));

const innocentNames = [
  'secretName secretRef secretKeyRef tokenTtl token_ttl passwordChangedAt passwordPolicy tokens maxTokens secrets',
  'imagePullSecrets credentialsRef authorizationMode cookieName privateKeyPath apiKeyId accessKeyId key name user author',
  'keyring broken monkey data stringData value path',
].flatMap((line) => line.split(' '));

describe('redact', () => {
  test.each(secretNames)('hides %s', (name) => {
    for (const value of ['x', 1, true, ['x'], { a: 'x' }])
      expect(redact({ spec: [{ [name]: value, rest: 1 }] })).toEqual({ spec: [{ [name]: '[redacted]', rest: 1 }] });
  });

  test.each(innocentNames)('keeps %s', (name) => {
    for (const value of ['x', 1, null, ['x'], { a: 'x' }]) expect(redact({ [name]: value })).toEqual({ [name]: value });
  });

  test.each<[reason: string, value: JsonValue, expected: JsonValue]>([
    [
      'data of a Secret',
      { kind: 'Secret', data: { a: 'eA==' }, stringData: { a: 'x' }, type: 'Opaque' },
      { kind: 'Secret', data: '[redacted]', stringData: '[redacted]', type: 'Opaque' },
    ],
    [
      'data of a Secret in a list',
      { kind: 'List', items: [{ kind: 'Secret', data: { a: 'eA==' } }] },
      { kind: 'List', items: [{ kind: 'Secret', data: '[redacted]' }] },
    ],
    ['no data of another kind', { kind: 'ConfigMap', data: { a: 'x' } }, { kind: 'ConfigMap', data: { a: 'x' } }],
    [
      'a variable',
      {
        env: [
          { name: 'DB_PASSWORD', value: 'x' },
          { name: 'DB_USER', value: 'ada' },
        ],
      },
      {
        env: [
          { name: 'DB_PASSWORD', value: '[redacted]' },
          { name: 'DB_USER', value: 'ada' },
        ],
      },
    ],
    [
      'a value of a JSON Patch',
      [
        { op: 'add', path: '/spec/credentials/ada', value: 'x' },
        { op: 'add', path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration', value: 'x' },
        { op: 'add', path: '/spec', value: { password: 'x', size: 1 } },
        { op: 'add', path: '/spec/secretName', value: 'a' },
      ],
      [
        { op: 'add', path: '/spec/credentials/ada', value: '[redacted]' },
        {
          op: 'add',
          path: '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration',
          value: '[redacted]',
        },
        { op: 'add', path: '/spec', value: { password: '[redacted]', size: 1 } },
        { op: 'add', path: '/spec/secretName', value: 'a' },
      ],
    ],
    ['what PostgreSQL cannot store', { 'a\0': ['x\0y\ud800\n', '\u{1f600}'] }, { 'a ': ['x y \n', '\u{1f600}'] }],
    ['a text', 'x\0', 'x '],
    ['null', null, null],
  ])('%s', (_reason, value, expected) => {
    expect(redact(value)).toEqual(expected);
  });

  test('drops managedFields of metadata if asked', () => {
    const managedFields: JsonValue = [{ manager: 'kubectl' }];
    const item = { metadata: { name: 'a', managedFields }, spec: { managedFields } };
    const list = { kind: 'List', items: [item] };
    expect(redact(list)).toEqual(list);
    expect(redact(list, { omitManagedFields: true })).toEqual({
      kind: 'List',
      items: [{ metadata: { name: 'a' }, spec: { managedFields } }],
    });
  });

  test('changes only its copy', () => {
    const value = { a: [{ token: 'x', b: { c: '\0' } }] };
    const before = structuredClone(value);
    const copy = redact(value) as typeof value;
    expect(value).toEqual(before);
    copy.a[0]!.b.c = 'changed';
    expect(value).toEqual(before);
  });

  test('keeps a field __proto__ a field', () => {
    const copy = redact(JSON.parse('{"__proto__":{"token":"x","a":1}}') as JsonValue);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"token":"[redacted]","a":1}}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  test('accepts any depth', () => {
    let value: JsonValue = { token: 'x' };
    for (let i = 0; i < 100_000; i += 1) value = i % 2 === 0 ? [value] : { a: value };
    let copy = redact(value);
    while (typeof copy === 'object' && copy !== null && !('token' in copy))
      copy = Array.isArray(copy) ? copy[0]! : copy['a']!;
    expect(copy).toEqual({ token: '[redacted]' });
  });

  test('hides every secret, wherever it is, and nothing else', () => {
    const names = fc.oneof(fc.constantFrom('spec', 'items', 'secretName', 'a.b'), fc.constantFrom(...secretNames));
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constant('x'),
        fc.array(tie('value')),
        fc.dictionary(names, tie('value')) as fc.Arbitrary<JsonObject>,
      ),
    }));
    const isRedacted = (before: JsonValue, after: JsonValue): boolean => {
      if (typeof before !== 'object' || before === null) return before === after;
      if (Array.isArray(before))
        return Array.isArray(after) && before.every((item, index) => isRedacted(item, after[index]!));
      return Object.entries(before).every(([key, member]) => {
        const found = (after as JsonObject)[key]!;
        return secretNames.includes(key) ? found === '[redacted]' : isRedacted(member, found);
      });
    };
    fc.assert(fc.property(value, (each) => isRedacted(each, redact(each))));
  });
});

describe('redactUri', () => {
  test.each([
    ['/api/v1/pods', '/api/v1/pods'],
    ['/api/v1/pods?', '/api/v1/pods?'],
    ['/api?watch=1&limit=5', '/api?watch=1&limit=5'],
    ['/api?token=abc', '/api?token=[redacted]'],
    ['/api?a=1&access_token=abc&b=2', '/api?a=1&access_token=[redacted]&b=2'],
    ['/api?%74oken=abc', '/api?%74oken=[redacted]'],
    ['/api?%zz%74oken=abc', '/api?%zz%74oken=[redacted]'],
    ['/api?api+key=abc', '/api?api+key=[redacted]'],
    ['/api?auth[token]=abc', '/api?auth[token]=[redacted]'],
    ['/api?token=a=b?c', '/api?token=[redacted]'],
    ['/api?x=1?token=abc', '/api?x=1?token=abc'],
    ['/api??token=abc', '/api??token=[redacted]'],
    ['/api?token=a&token=b&&', '/api?token=[redacted]&token=[redacted]&&'],
    ['/api?token=', '/api?token=[redacted]'],
    ['/api?token', '/api?token'],
    ['/api?secretName=a&tokenTtl=5', '/api?secretName=a&tokenTtl=5'],
    ['/token/abc?x', '/token/abc?x'],
    ['', ''],
  ])('%s', (uri, expected) => {
    expect(redactUri(uri)).toBe(expected);
  });

  test('keeps 2048 characters, and no secret at the cut', () => {
    expect(redactUri(`/${'a'.repeat(3000)}`)).toBe(`/${'a'.repeat(2047)}`);
    expect(redactUri(`/?a=${'a'.repeat(2030)}&token=abcdefghijklmnop`)).toHaveLength(2048);
    expect(redactUri(`/?a=${'a'.repeat(2030)}&token=abcdefghijklmnop`)).toMatch(/a&token=\[redact$/);
    expect(redactUri(`/?${'token=x&'.repeat(1000)}`)).toHaveLength(2048);
  });
});
