import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError, type JsonObject, type StatusCause } from '#pkg/apimachinery/index';
import { prepareConfigMap, validateConfigMap } from './config-map.ts';
import { base64Bytes } from './keyed-data.ts';
import { prepareSecret, validateSecret } from './secret.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const messages = (causes: readonly StatusCause[]): string[] =>
  causes.map(({ field, message }) => `${field ?? ''}: ${message}`);
const immutable = 'Forbidden: field is immutable when `immutable` is set';
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

describe('a ConfigMap', () => {
  test.each<[string, JsonObject, string[]]>([
    ['no data', {}, []],
    ['any text', { data: { 'a.b_C-1': '' }, binaryData: { b: base64('x') } }, []],
    ['a key with a slash', { data: { 'a/b': '' } }, [`data[a/b]: Invalid value: "a/b": ${keyRule}`]],
    ['the folder itself', { data: { '.': '' } }, [`data[.]: Invalid value: ".": must not be '.'`]],
    ['the folder above', { binaryData: { '..': '' } }, [`binaryData[..]: Invalid value: "..": must not be '..'`]],
    ['a path upwards', { data: { '..a': '' } }, [`data[..a]: Invalid value: "..a": must not start with '..'`]],
    [
      'one key twice',
      { data: { a: '' }, binaryData: { a: '' } },
      [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData',
        'binaryData[a]: Invalid value: "a": duplicate of key present in data',
      ],
    ],
    ['1 MiB', { data: { a: 'ü'.repeat(1 << 19) } }, []],
    [
      '1 MiB, and one byte',
      { data: { a: 'ü'.repeat(1 << 19) }, binaryData: { b: base64('x') } },
      ['[]: Too long: may not be more than 1048576 bytes'],
    ],
  ])('%s', (_reason, object, expected) => {
    expect(messages(validateConfigMap(object, undefined))).toEqual(expected);
  });

  test.each<[string, JsonObject, string[]]>([
    ['the same', { immutable: true, data: { a: '1' }, binaryData: { b: '' } }, []],
    ['another value', { immutable: true, data: { a: '2' }, binaryData: { b: '' } }, [`data: ${immutable}`]],
    ['one value less', { immutable: true, data: { a: '1' } }, [`binaryData: ${immutable}`]],
    ['mutable again', { data: { a: '1' }, binaryData: { b: '' } }, [`immutable: ${immutable}`]],
  ])('that is immutable: %s', (_reason, object, expected) => {
    const old = { immutable: true, data: { a: '1' }, binaryData: { b: '' } };
    expect(messages(validateConfigMap(object, old))).toEqual(expected);
  });

  test('null is the empty text, and base64 gets its standard form', () => {
    const object: JsonObject = { kind: 'ConfigMap', data: { a: null }, binaryData: { b: 'eA\n=\r\n=', c: null } };
    prepareConfigMap(object);
    expect(object).toEqual({ kind: 'ConfigMap', data: { a: '' }, binaryData: { b: 'eA==', c: '' } });
  });
});

describe('a Secret', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['adds a value', { stringData: { a: 'é' } }, { data: { a: base64('é') } }],
    [
      'wins over data',
      { data: { a: base64('1'), b: base64('2') }, stringData: { a: '3' } },
      { data: { a: base64('3'), b: base64('2') } },
    ],
    ['null', { data: null, stringData: null }, { data: null }],
    ['a null value', { stringData: { a: null } }, { data: { a: '' } }],
    ['none', { stringData: {} }, {}],
    ['a wrong type stays for the schema', { stringData: { a: 1 } }, { stringData: { a: 1 } }],
    ['wrong data stays, too', { data: 'x', stringData: { a: '1' } }, { data: 'x', stringData: { a: '1' } }],
  ])('stringData: %s', (_reason, object, expected) => {
    prepareSecret(object);
    expect(object).toEqual(expected);
  });

  test.each([
    ['aGk', 3],
    ['a*Gk', 1],
    ['=', 0],
    ['aGk=aGk=', 3],
    ['geheim!!', 6],
  ])('base64 %j is refused without being shown', (text, at) => {
    const message = `Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte ${at}`;
    expect(() => prepareSecret({ kind: 'Secret', data: { a: text } })).toThrow(message);
  });

  const docker = base64('{"auths":{}}');
  test.each<[string, JsonObject, string[]]>([
    ['of its own type', { type: 'example.com/any', data: {} }, []],
    [
      'service account token',
      { type: 'kubernetes.io/service-account-token' },
      ['metadata.annotations[kubernetes.io/service-account.name]: Required value'],
    ],
    [
      'service account token of one',
      {
        type: 'kubernetes.io/service-account-token',
        metadata: { annotations: { 'kubernetes.io/service-account.name': 'a' } },
      },
      [],
    ],
    ['docker without', { type: 'kubernetes.io/dockerconfigjson' }, ['data[.dockerconfigjson]: Required value']],
    ['docker', { type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': docker } }, []],
    [
      'docker that is no JSON',
      { type: 'kubernetes.io/dockercfg', data: { '.dockercfg': base64('hunter2') } },
      ['data[.dockercfg]: Invalid value: "<secret contents redacted>": must be a JSON object'],
    ],
    [
      'basic auth without',
      { type: 'kubernetes.io/basic-auth' },
      ['data[username]: Required value', 'data[password]: Required value'],
    ],
    ['basic auth', { type: 'kubernetes.io/basic-auth', data: { username: '' } }, []],
    [
      'ssh without',
      { type: 'kubernetes.io/ssh-auth', data: { 'ssh-privatekey': '' } },
      ['data[ssh-privatekey]: Required value'],
    ],
    ['tls with one of two', { type: 'kubernetes.io/tls', data: { 'tls.crt': '' } }, ['data[tls.key]: Required value']],
    [
      'over 1 MiB',
      { data: { a: Buffer.alloc((1 << 20) + 1).toString('base64') } },
      ['data: Too long: may not be more than 1048576 bytes'],
    ],
  ])('%s', (_reason, object, expected) => {
    expect(messages(validateSecret(object, undefined))).toEqual(expected);
  });

  test('keeps its type, and immutable data', () => {
    const old = { type: 'Opaque', immutable: true, data: { a: 'eA==' } };
    expect(messages(validateSecret({ type: 'x', immutable: true, data: { a: 'eQ==' } }, old))).toEqual([
      'type: Invalid value: "x": field is immutable',
      `data: ${immutable}`,
    ]);
    expect(messages(validateSecret({ ...old, metadata: { labels: { a: 'b' } } }, old))).toEqual([]);
  });
});

test('the length of base64 is that of its bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(base64Bytes(Buffer.from(bytes).toString('base64'))).toBe(bytes.length);
    }),
  );
});

test('any data is prepared or refused with 400', () => {
  const value = fc.oneof(fc.string(), fc.constant(null), fc.integer(), fc.base64String());
  const bag = fc.oneof(fc.dictionary(fc.string(), value), value);
  fc.assert(
    fc.property(bag, bag, (data, stringData) => {
      const object = { kind: 'Secret', data, stringData } as JsonObject;
      try {
        prepareSecret(object);
      } catch (error) {
        if (!isStatusError(error, 'BadRequest')) throw error;
      }
    }),
  );
});
