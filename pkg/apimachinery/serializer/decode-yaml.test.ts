import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import type { JsonValue } from '../meta/object.ts';
import { isStatusError, type StatusError } from '../status/status-error.ts';
import { decodeYaml, decodeYamlDocuments, maxYamlBytes } from './decode-yaml.ts';
import { encodeYaml } from './encode-yaml.ts';
import { textViolation } from './value-rules.ts';

const decode = (text: string) => decodeYaml(Buffer.from(text));

function failureOf(run: () => unknown): StatusError {
  try {
    run();
  } catch (error) {
    if (isStatusError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('decodeYaml', () => {
  test.each([
    [
      'a: yes\nb: on\nc: true\nd: ~\ne: null\nf:',
      { a: 'yes', b: 'on', c: true, d: null, e: null, f: null },
      'core schema words',
    ],
    [
      'a: 2026-01-31\nb: 2026-01-31T00:00:00Z\nc: 12:30',
      { a: '2026-01-31', b: '2026-01-31T00:00:00Z', c: '12:30' },
      'timestamps stay strings',
    ],
    [
      'a: 1\nb: 0x10\nc: 0o17\nd: 1e3\ne: -0\nf: .5\ng: 0123',
      { a: 1, b: 16, c: 15, d: 1000, e: 0, f: 0.5, g: 123 },
      'numbers',
    ],
    ['1: a\n1.50: b\ntrue: c\n0x10: d', { '1': 'a', '1.5': 'b', true: 'c', '16': 'd' }, 'scalar keys become strings'],
    ['<<: {a: 1}\nb: 2', { '<<': { a: 1 }, b: 2 }, 'no merge keys'],
    ['a: &x {b: [1]}\nc: *x\n&k d: *k', { a: { b: [1] }, c: { b: [1] }, d: 'd' }, 'anchors and aliases'],
    ['- &x 1\n- *x\n- &x 2\n- *x', [1, 1, 2, 2], 'an anchor defined again'],
    ['a: !!str 1\nb: !!int "2"\nc: !!map {}', { a: '1', b: 2, c: {} }, 'core tags'],
    [
      '%YAML 1.2\n---\na: |\n  x\n  y\nb: >-\n  x\n  y\n...\n',
      { a: 'x\ny\n', b: 'x y' },
      'block scalars and document markers',
    ],
    ['{"a": [1, {"b": "\\u00e9"}]}', { a: [1, { b: 'é' }] }, 'JSON'],
    ['{a: [1, "x", y]}', { a: [1, 'x', 'y'] }, 'flow style'],
    ['\uFEFFa: 1', { a: 1 }, 'a byte order mark'],
  ])('reads %j', (text, value, _reason) => {
    expect(decode(text)).toEqual({ value, duplicates: [], dropped: [] });
  });

  test('gives every alias a value of its own', () => {
    const { a, b } = decode('a: &x {c: {}}\nb: *x').value as { a: { c: object }; b: { c: object } };
    expect(a).not.toBe(b);
    expect(a.c).not.toBe(b.c);
  });

  test('reports duplicates and removes prototype keys', () => {
    expect(decode('spec:\n  tags: 1\n  tags: 2\n__proto__: {x: 1}\nl: [{constructor: 1}]')).toEqual({
      value: { spec: { tags: 2 }, l: [{}] },
      duplicates: ['spec.tags'],
      dropped: ['__proto__', 'l[0].constructor'],
    });
    expect(decode('{"a":1,"a":2}').duplicates).toEqual(['a']);
  });

  test.each([
    ['a: [1', 400, 'broken flow'],
    ['a: b: c', 400, 'nested on one line'],
    ['a: "x', 400, 'an open quote'],
    ['\ta: 1', 400, 'a tab as indentation'],
    ['a: !custom x', 400, 'a custom tag'],
    ['a: !!binary aGk=', 400, 'a tag outside the core'],
    ['a: !!set {x}', 400, 'a tag outside the core'],
    ['%YAML 1.1\n---\na: yes', 400, 'another YAML'],
    ['%TAG ! tag:example.com,2026:\n---\na: 1', 400, 'a directive'],
    ['? [a]\n: b', 400, 'a complex key'],
    ['? {a: 1}\n: b', 400, 'a complex key'],
    [': b', 400, 'a null key'],
    ['a: *x', 400, 'an unknown alias'],
    ['a: &x [*x]', 400, 'a cycle'],
    ['a: 1\n---\nb: 2', 400, 'several documents'],
    ['', 400, 'nothing'],
    ['# nothing', 400, 'nothing but a comment'],
    ['a: "\\0"', 400, 'U+0000'],
    ['a: "\\ud800"', 400, 'half a surrogate pair'],
    ['"\\udc00": 1', 400, 'half a surrogate pair in a key'],
    ['a: 9007199254740993', 422, 'an integer out of range'],
    ['a: 0xfffffffffffffffff', 422, 'in hexadecimal'],
    ['a: .inf', 422, 'infinity'],
    ['a: .nan', 422, 'not a number'],
    ['a: 1e400', 422, 'beyond doubles'],
    [`a: ${'['.repeat(100)}${']'.repeat(100)}`, 400, '101 levels of flow'],
    [
      Array.from({ length: 101 }, (_, i) => `${' '.repeat(i)}a:\n`).join('') + `${' '.repeat(101)}b`,
      400,
      '101 levels of blocks',
    ],
    ['- '.repeat(101), 400, '101 levels of compact sequences'],
    [
      `x: &a ${'['.repeat(60)}${']'.repeat(60)}\ny: ${'['.repeat(60)}*a${']'.repeat(60)}`,
      400,
      'too deep through an alias',
    ],
  ])('refuses %j with %i: %s', (text, code) => {
    expect(failureOf(() => decode(text)).code).toBe(code);
  });

  test('accepts 100 levels', () => {
    expect(decode(`a: ${'[ x, '.repeat(98)}[]${']'.repeat(98)}`).dropped).toEqual([]);
    expect(
      decode(`${Array.from({ length: 100 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')}${' '.repeat(100)}"b"`).dropped,
    ).toEqual([]);
    expect(decode(`${'- '.repeat(100)}b`).dropped).toEqual([]);
  });

  test('names the line and does not echo the body', () => {
    const failure = failureOf(() => decode(`a: 1\nb: 2\nc: {${'secret'.repeat(100)}`));
    expect(failure.message).toContain('line 3');
    expect(failure.message.length).toBeLessThan(250);
  });

  test('refuses an alias bomb', () => {
    const levels = Array.from(
      { length: 30 },
      (_, i) => `a${i + 1}: &a${i + 1} [${Array.from({ length: 9 }, () => `*a${i}`).join()}]`,
    );
    expect(failureOf(() => decode(['a0: &a0 lol', ...levels].join('\n')))).toMatchObject({
      code: 413,
      message: 'the body holds more than 100000 values and keys',
    });
    expect(failureOf(() => decode(`a: &a "${'x'.repeat(500_000)}"\nb: [${'*a , '.repeat(1000)}]`)).code).toBe(400);
  });

  test.each([
    ['items', `a:\n${'- 1\n'.repeat(40_000)}`],
    ['anchors', `a:\n${Array.from({ length: 30_000 }, (_, i) => `- &a${i} x\n`).join('')}`],
    ['aliases', `x: &a 1\na:\n${'- *a\n'.repeat(30_000)}`],
  ])('limits the number of tokens: %s', (_reason, text) => {
    expect(failureOf(() => decode(text))).toMatchObject({
      code: 413,
      message: 'a YAML body is limited to 60000 tokens; JSON may be larger',
    });
  });

  test('JSON in a YAML body has the same limit of values as other JSON', () => {
    expect(failureOf(() => decode(`[${'{},'.repeat(100_000)}{}]`)).code).toBe(413);
  });

  test('reads a file with several documents', () => {
    expect(
      decodeYamlDocuments('---\n# only a comment\n---\na: 1\n---\n---\nb: 2\nb: 3\n...\n').map(
        (document) => document.value,
      ),
    ).toEqual([{ a: 1 }, { b: 3 }]);
    expect(decodeYamlDocuments('')).toEqual([]);
    expect(decodeYamlDocuments('--- a\n'.repeat(1000))).toHaveLength(1000);
    expect(failureOf(() => decodeYamlDocuments('--- a\n'.repeat(1001))).code).toBe(400);
    expect(failureOf(() => decodeYamlDocuments('a: 1\n---\nb: [')).code).toBe(400);
  });

  test('reads the output of encodeYaml', () => {
    fc.assert(
      fc.property(fc.oneof(anyJson('grapheme'), anyJson('binary')), (value) => {
        expect(decode(encodeYaml(value)).value).toEqual(value);
      }),
      { numRuns: 400 },
    );
  });

  test('answers any text with a value or a 4xx', () => {
    const yamlLike = fc.array(
      fc.constantFrom(
        'a',
        ':',
        ': ',
        '- ',
        '? ',
        '\n',
        '\n  ',
        ' ',
        '[',
        ']',
        '{',
        '}',
        ',',
        '&x ',
        '*x',
        '!!str ',
        '!',
        '|',
        '>',
        '"',
        "'",
        '#',
        '%',
        '---\n',
        '...\n',
        '@',
        '\t',
        '1e9',
        '<<',
        '\\',
        '\u0000',
        '\u2028',
        '\uFEFF',
        '\r',
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
          yamlLike.map((parts) => Buffer.from(parts.join(''))),
        ),
        (bytes) => {
          for (const run of [() => decodeYaml(bytes), () => decodeYamlDocuments(bytes.toString('latin1'))]) {
            try {
              run();
            } catch (error) {
              expect(isStatusError(error) && error.code >= 400 && error.code < 500).toBe(true);
            }
          }
        },
      ),
      { numRuns: 800 },
    );
  });
});

describe('hostile bodies at the limit are answered', () => {
  const bodies = new Map([
    ['flow nesting', fill('[')],
    ['dashes', fill('- ')],
    ['short items', fill('- a\n')],
    ['empty items', `[${fill('a,')}]`],
    ['long words', `[${fill(`${'x'.repeat(10)},`)}]`],
    ['anchors', `- x\n${fill('- &abcdefgh x\n')}`],
    ['aliases', `- &a x\n${fill('- *a\n')}`],
    ['one long line', fill('x: x')],
    ['a block scalar', `a: |\n${fill('  x\n')}`],
    ['a folded scalar', `a: >\n${fill('  x\n')}`],
    ['a quoted scalar of lines', `a: "${fill('x\n ')}"`],
    ['wrong ends', fill('}')],
    ['directives', fill('%A\n')],
    ['documents', fill('---\n')],
    ['an error after all', `${fill('abcdefgh: ijklm\n')}]`],
    ['too large', 'a: 1\n'.repeat(1 << 20)],
  ]);
  test.each([...bodies.keys()])('%s', (name) => {
    const bytes = Buffer.from(bodies.get(name) ?? '');
    const start = performance.now();
    let answer = 'a value';
    try {
      decodeYaml(bytes);
    } catch (error) {
      expect(isStatusError(error)).toBe(true);
      answer = (error as StatusError).message.slice(0, 70);
    }
    process.stdout.write(`decodeYaml, ${name}: ${(performance.now() - start).toFixed(0)} ms, ${answer}\n`);
  });
});

function fill(part: string): string {
  return part.repeat(Math.floor(maxYamlBytes / part.length) - 2);
}

function anyJson(unit: 'grapheme' | 'binary'): fc.Arbitrary<JsonValue> {
  const text = fc.string({ unit, maxLength: 12 }).filter((value) => textViolation(value) === undefined);
  const spaced = fc
    .array(fc.constantFrom(' ', '\n', '\t', 'a', '#', ':', '-', "'", '"', '\r', '%', '\u0085', '\u2028', '\uFEFF'), {
      maxLength: 8,
    })
    .map((parts) => parts.join(''));
  const key = fc.oneof(text, spaced).filter((value) => !['__proto__', 'constructor', 'prototype'].includes(value));
  const number = fc
    .oneof(fc.maxSafeInteger(), fc.double({ min: -1e15, max: 1e15, noNaN: true }))
    .map((value) => (value === 0 ? 0 : value));
  const word = fc.constantFrom(
    'yes',
    'null',
    '~',
    '1e3',
    '0x1',
    '.inf',
    '2026-01-31',
    '<<',
    '---',
    '...',
    '? ',
    '*a',
    '!x',
    'true',
    '',
  );
  return fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      number,
      text,
      spaced,
      word,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value;
}
