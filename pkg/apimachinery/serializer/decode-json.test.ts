import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import type { JsonValue } from '../meta/object.ts';
import { isStatusError, type StatusError } from '../status/status-error.ts';
import { decodeJson } from './decode-json.ts';

const decode = (text: string) => decodeJson(Buffer.from(text));

function failureOf(run: () => unknown): StatusError {
  try {
    run();
  } catch (error) {
    if (isStatusError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('decodeJson', () => {
  test('decodes plain values', () => {
    expect(decode('{"a":[1,-2.5,1e3,"\\u00e9\\ud83d\\ude00",true,null,{}]}')).toEqual({
      value: { a: [1, -2.5, 1000, 'é😀', true, null, {}] },
      duplicates: [],
      dropped: [],
    });
    expect(decode('\uFEFF{"a":1}').value).toEqual({ a: 1 });
    expect(decode(' "x\\"y" ').value).toBe('x"y');
  });

  test.each([
    ['{"a":1,"a":2}', { a: 2 }, ['a']],
    ['{"a":1,"a":2,"a":3}', { a: 3 }, ['a']],
    ['{"spec":{"tags":1,"x":"\\"{","tags":2}}', { spec: { tags: 2, x: '"{' } }, ['spec.tags']],
    ['{"spec":{"tags":1,"t\\u0061gs":2}}', { spec: { tags: 2 } }, ['spec.tags']],
    ['[{"a":1},{"b":[{"a":1,"c":{},"a":{}}]}]', [{ a: 1 }, { b: [{ a: {}, c: {} }] }], ['[1].b[0].a']],
    ['{"a":{"x":1,"x":2},"a":3}', { a: 3 }, ['a.x', 'a']],
    ['{"":1,"":2}', { '': 2 }, ['[]']],
    ['{"m":{"b.c/d":1,"b.c/d":2}}', { m: { 'b.c/d': 2 } }, ['m[b.c/d]']],
  ])('reports duplicate keys of %s', (text, value, duplicates) => {
    expect(decode(text)).toEqual({ value, duplicates, dropped: [] });
  });

  test('removes prototype keys at every depth', () => {
    const { value, dropped, duplicates } = decode(
      '{"__proto__":{"admin":true},"a":[{"constructor":{"prototype":1},"b":1}],"\\u005f_proto__x":1}',
    );
    expect(JSON.stringify(value)).toBe('{"a":[{"b":1}],"__proto__x":1}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(dropped).toEqual(['__proto__', 'a[0].constructor', 'a[0].constructor.prototype']);
    expect(duplicates).toEqual([]);
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });

  test.each([
    ['9007199254740992', 'the first integer outside'],
    ['-9007199254740992', 'on the other side'],
    ['9223372036854775807', '2^63-1'],
    ['100000000000000000000', 'an integer that a double happens to be'],
    ['9007199254740993.0', 'an integer whose last digit a double does not have'],
    ['9007199254740993e0', 'the same with an exponent'],
    ['-9007199254740992.5', 'a fraction that a double does not have'],
    ['1234567890123456789.0', 'more digits than a double has'],
    ['9223372036854775807.0', '2^63-1 as a float'],
    ['1e400', 'no double at all'],
    ['-1.5e400', 'no double at all'],
  ])('refuses the number %s: %s', (literal) => {
    const failure = failureOf(() => decode(`{"spec":{"n":[0,${literal}]}}`));
    expect([failure.code, failure.reason]).toEqual([422, 'Invalid']);
    expect(failure.details?.causes?.[0]).toMatchObject({ field: 'spec.n[1]', reason: 'FieldValueInvalid' });
    expect(failure.message).toContain(literal);
  });

  test.each([
    ['9007199254740991', 9007199254740991],
    ['1.5e300', 1.5e300],
    ['0.1', 0.1],
    ['1e+21', 1e21],
    ['1E21', 1e21],
    ['-1e21', -1e21],
    ['15e299', 1.5e300],
    ['1e20', 1e20],
    ['1.5e20', 1.5e20],
    ['9007199254740992.0', 2 ** 53],
    ['9007199254740994e0', 2 ** 53 + 2],
    ['9007199254740993e14', Number('9007199254740993e14')],
    ['123456789012345683968.0', 123456789012345680000],
    ['1.2345678901234568e+20', 123456789012345680000],
    [`1${'0'.repeat(30)}.0`, 1e30],
    ['9223372036854775808.0', 2 ** 63],
    ['-9.223372036854775808e18', -(2 ** 63)],
    ['123456789012345678901.0', 123456789012345680000],
    ['1.7976931348623158e308', Number.MAX_VALUE],
    ['0.1000000000000000055511151231257827', 0.1],
    ['1e15', 1e15],
    ['-0', 0],
    ['[-0.0]', [0]],
    ['{"a":-1e-400}', { a: 0 }],
  ])('accepts the number %s', (text, value) => {
    expect(decode(text).value).toStrictEqual(value);
  });

  test.each([
    ['{"spec":{"a":"x\\u0000"}}', 'spec.a: must not hold the character U+0000'],
    ['{"spec":["\\ud800"]}', 'spec[0]: must not hold an unpaired surrogate (U+D800 to U+DFFF)'],
    ['{"spec":{"\\udc00b":1}}', 'spec[\uFFFDb]: the key must not hold an unpaired surrogate (U+D800 to U+DFFF)'],
    ['"\\u0000"', 'the body: must not hold the character U+0000'],
  ])('refuses text that cannot be stored: %s', (text, message) => {
    const failure = failureOf(() => decode(text));
    expect([failure.code, failure.message]).toEqual([400, message]);
  });

  test.each(['', '{', '{"a":1,}', "{'a':1}", 'NaN', '[1]]', '{"a":"\u0001"}', '01', '"\\x"', 'x'.repeat(300)])(
    'refuses invalid JSON with a short message: %j',
    (text) => {
      const failure = failureOf(() => decode(text));
      expect(failure.code).toBe(400);
      expect(failure.message.length).toBeLessThan(220);
    },
  );

  test('refuses invalid UTF-8', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ]) {
      expect(failureOf(() => decodeJson(Buffer.from(bytes)))).toMatchObject({
        code: 400,
        message: 'the body of the request is not valid UTF-8',
      });
    }
  });

  test('accepts at most 100 levels', () => {
    expect(decode('['.repeat(100) + ']'.repeat(100)).duplicates).toEqual([]);
    expect(failureOf(() => decode('['.repeat(101) + ']'.repeat(101))).code).toBe(400);
    expect(failureOf(() => decode('{"a":'.repeat(101) + '1' + '}'.repeat(101))).code).toBe(400);
    expect(decode('{"a":1,"a":' + '['.repeat(99) + ']'.repeat(99) + '}').duplicates).toEqual(['a']);
  });

  test('reports at most 100 paths', () => {
    const text = `{${Array.from({ length: 300 }, (_, i) => `"k${i}":1,"k${i}":2`).join()}}`;
    expect(decode(text).duplicates).toHaveLength(100);
  });

  test('gives the result of JSON.parse for accepted text', () => {
    fc.assert(
      fc.property(plainJson(), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        const escaped = text.replaceAll(
          /[\u007f-\uffff]/g,
          (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
        );
        for (const form of [text, escaped])
          expect(decode(form)).toEqual({ value: JSON.parse(text) as JsonValue, duplicates: [], dropped: [] });
      }),
      { numRuns: 300 },
    );
  });

  test('finds every duplicate', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd"', '\\'), plainJson()), { maxLength: 8 }),
        (entries) => {
          const text = `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`;
          const twice = new Set(entries.map(([key]) => key).filter((key, i, keys) => keys.indexOf(key) < i));
          const result = decode(text);
          expect(result.value).toEqual(JSON.parse(text));
          expect(result.duplicates).toHaveLength(twice.size);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('answers any bytes with a value or a 4xx', () => {
    const jsonLike = fc.array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '"a"',
        '1',
        '-',
        '1e999',
        '\\',
        'true',
        '"__proto__":',
        ' ',
        '\\u0000',
        '\\ud800',
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
          jsonLike.map((parts) => Buffer.from(parts.join(''))),
        ),
        (bytes) => {
          try {
            decodeJson(bytes);
          } catch (error) {
            expect(isStatusError(error) && error.code >= 400 && error.code < 500).toBe(true);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('the number of values and keys', () => {
  const times = (count: number, part: string): string => Array.from({ length: count }, () => part).join();
  test.each([
    ['numbers', `[${times(99_999, '-1.5e3')}]`],
    ['literals', `[${times(99_999, ' null ')}]`],
    ['empty objects', `[${times(99_999, '{}')}]`],
    [
      'keys count, too',
      `{${Array.from({ length: 49_999 }, (_, i) => `"k${i}":""`).join()}}`.replace('"k0":""', '"k0":[1]'),
    ],
    ['characters inside strings do not count', `["${'{1,2,\\"3'.repeat(50_000)}"]`],
  ])('the maximum is accepted: %s', (_reason, text) => {
    expect(() => decode(text)).not.toThrow();
  });

  test.each([
    ['numbers', `[${times(100_000, '0')}]`],
    ['empty objects', `[${times(100_000, '{}')}]`],
    ['keys', `{${Array.from({ length: 50_000 }, (_, i) => `"k${i}":true`).join()}}`],
    ['one key many times', `{${times(50_000, '"a":1')}}`],
    ['no JSON at all', times(100_001, '1')],
  ])('one more is refused: %s', (_reason, text) => {
    expect(failureOf(() => decode(text))).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'the body holds more than 100000 values and keys',
    });
  });
});

describe('hostile bodies of 3 MiB are answered', () => {
  const size = 3 << 20;
  const fill = (part: string): string => part.repeat(Math.floor(size / part.length) - 1);
  const bodies = new Map([
    ['balanced brackets', '['.repeat(size / 2) + ']'.repeat(size / 2)],
    ['open brackets', '['.repeat(size)],
    ['open objects', fill('{"a":')],
    ['one key many times', `{${fill('"a":1,')}"a":1}`],
    ['many keys and a duplicate', `{${Array.from({ length: 49_000 }, (_, i) => `"k${i}":1`).join()},"k0":1}`],
    ['duplicates in duplicates', `{${fill('"a":{"b":1,"b":1},')}"a":1}`],
    ['numbers out of range', `[${fill('1e400,')}1]`],
    ['digits', `[${fill('1')}]`],
    ['escapes and a duplicate', `{"a":"${fill('\\u0041')}","a":1}`],
    ['backslashes', `["${fill('\\\\')}"]`],
    ['prototype keys', `[${fill('{"__proto__":1},')}1]`],
  ]);
  test.each([...bodies.keys()])('%s', (name) => {
    const bytes = Buffer.from(bodies.get(name) ?? '');
    const start = performance.now();
    try {
      decodeJson(bytes);
    } catch (error) {
      expect(isStatusError(error)).toBe(true);
    }
    process.stdout.write(`decodeJson, 3 MiB, ${name}: ${(performance.now() - start).toFixed(0)} ms\n`);
  });
});

test('prints the time of a small body', () => {
  const bytes = Buffer.from(
    JSON.stringify({
      apiVersion: 'blog.example.com/v1',
      kind: 'Post',
      metadata: { name: 'hello', labels: { a: 'b', c: 'd' } },
      spec: { title: 'x'.repeat(300), tags: ['a', 'b', 'c'], priority: 3, body: 'word "quoted" '.repeat(35) },
    }),
  );
  for (let i = 0; i < 20_000; i += 1) decodeJson(bytes);
  const start = performance.now();
  for (let i = 0; i < 20_000; i += 1) decodeJson(bytes);
  process.stdout.write(`decodeJson, ${bytes.length} bytes: ${((performance.now() - start) / 20).toFixed(2)} us\n`);
  expect(bytes.length).toBeGreaterThan(900);
});

/** JSON that decoding neither refuses nor changes. */
function plainJson(): fc.Arbitrary<JsonValue> {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((value) => !value.includes('\u0000'));
  const key = text.filter((value) => !['__proto__', 'constructor', 'prototype'].includes(value));
  const number = fc
    .oneof(fc.maxSafeInteger(), fc.double({ min: -1e15, max: 1e15, noNaN: true }))
    .map((value) => (value === 0 ? 0 : value));
  return fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      number,
      text,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value;
}
