import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import type { JsonValue } from '../meta/object.ts';
import { encodeYaml } from './encode-yaml.ts';

const cases: [reason: string, value: JsonValue, text: string][] = [
  ['an object', { a: 1, b: { c: true, d: null } }, 'a: 1\nb:\n  c: true\n  d: null\n'],
  [
    'lists, nested ones too',
    { a: [1, [2, 3], { b: 1, c: [4] }] },
    'a:\n  - 1\n  - - 2\n    - 3\n  - b: 1\n    c:\n      - 4\n',
  ],
  ['empty values', { a: {}, b: [], c: '', d: [{}, []] }, 'a: {}\nb: []\nc: ""\nd:\n  - {}\n  - []\n'],
  ['a scalar alone', 'text', 'text\n'],
  ['an empty object alone', {}, '{}\n'],
  ['plain texts', ['a b', 'http://x/y', 'a#b', 'café', 'v1.2'], '- a b\n- http://x/y\n- a#b\n- café\n- v1.2\n'],
  [
    'strings that would be parsed as another type',
    ['yes', 'Null', '1', '-', '2026-01-01', 'a: b', 'a #b', 'a:', 'a ', '~', '=', '<<'],
    '- "yes"\n- "Null"\n- "1"\n- "-"\n- "2026-01-01"\n- "a: b"\n- "a #b"\n- "a:"\n- "a "\n- "~"\n- "="\n- "<<"\n',
  ],
  ['keys that would be parsed as another type', { y: 1, '1': 2, 'a: b': 3 }, '"1": 2\n"y": 1\n"a: b": 3\n'],
  [
    'a text of several lines',
    { a: 'x\ny', b: 'x\n\ny\n', c: 'x\n\n', d: 1 },
    'a: |-\n  x\n  y\nb: |\n  x\n\n  y\nc: |+\n  x\n\nd: 1\n',
  ],
  [
    'a text whose lines cannot be a block scalar',
    ['x\r\ny', ' x\ny', 'x\n  \ny', 'x\ny\u0007'],
    '- "x\\r\\ny"\n- " x\\ny"\n- "x\\n  \\ny"\n- "x\\ny\\u0007"\n',
  ],
  [
    'characters that YAML must escape and JSON need not',
    ['a\u0085b', '\uFEFFx', 'x\u2028y'],
    '- "a\\u0085b"\n- "\\ufeffx"\n- "x\\u2028y"\n',
  ],
];

describe('encodeYaml', () => {
  test.each(cases)('%s', (_reason, value, text) => {
    expect(encodeYaml(value)).toBe(text);
  });

  test('writes a key that is too long for a simple key', () => {
    const key = 'k'.repeat(1025);
    const value = { a: { [key]: { b: [1] }, c: 'x\ny' }, [key]: 'x\ny' };
    expect(encodeYaml(value)).toContain(`  ? ${key}\n  : b:\n`);
    expect(parse(encodeYaml(value))).toEqual(value);
  });

  const scalars = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({
      unit: fc.constantFrom(
        '\n',
        ' ',
        '\t',
        'a',
        '#',
        ':',
        '-',
        '\r',
        '"',
        "'",
        '|',
        '>',
        '%',
        '&',
        '\u0085',
        '\uFEFF',
        '\u2028',
      ),
    }),
    fc.constantFrom('on', 'No', '0o7', '1e3', '.5', '---', '...', '0x1f', '1:20', 'NaN', '.inf'),
  );
  const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalars,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(scalars, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));

  test.each(['1.2', '1.1'] as const)('parsers of YAML %s read the same value', (version) => {
    fc.assert(
      fc.property(values, (value) => {
        // YAML 1.1 has merge keys, and reads numbers such as 1e+21 as texts; JSON's numbers follow 1.2.
        const read: unknown = parse(encodeYaml(value), {
          version,
          ...(version === '1.1' ? { schema: 'yaml-1.1', merge: false } : {}),
        });
        expect(read).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });
});
