import type { SeededRandom } from '../../harness/seeded-random.ts';
import { hostileText, mutateBytes } from './hostile-text.ts';

/** Valid JSON numbers, including those that many programs cannot represent. */
export const numberLiterals: readonly string[] = [
  '0',
  '-0',
  '-0.0',
  '1',
  '-1',
  '1.0',
  '1e0',
  '1E+2',
  '1e-7',
  '0.1',
  '0.30000000000000004',
  '1e400',
  '-1e400',
  '1e-400',
  '5e-324',
  '1.7976931348623157e308',
  '2147483648',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551616',
  '123456789012345678901234567890',
  '9007199254740993.0',
  '9007199254740993.5',
  '1.5e300',
  '1e21',
  '100000000000000000000',
  '4.35',
  '1.10',
  `1${'0'.repeat(400)}`,
  `0.${'1'.repeat(500)}`,
  `1e${'9'.repeat(30)}`,
  `1e-${'9'.repeat(30)}`,
  '9'.repeat(5000),
  '0.1e1',
  '123456.7890123456789e5',
  '1e+21',
  '-1E21',
  '1e20',
  '1.5e20',
  '9007199254740992.0',
  '9007199254740993e0',
  '9223372036854775807.0',
  '9.223372036854775808e18',
  '1.2345678901234568e+20',
  '123456789012345678901.0',
];

/** Invalid JSON. */
const malformed: readonly string[] = [
  '',
  ' ',
  '{',
  '}',
  '[',
  ']',
  '[,]',
  '[1,]',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{a:1}',
  "{'a':1}",
  '"',
  '"\\',
  '"\\u12',
  '"\\x41"',
  '"\n"',
  '"\t"',
  '01',
  '+1',
  '.5',
  '1.',
  '1e',
  '--1',
  '0x1',
  'NaN',
  'Infinity',
  '-Infinity',
  'nul',
  'True',
  'undefined',
  '/**/1',
  '1//',
  '1 2',
  '[1}',
  '{"a":1]',
  '\u0000',
  '[1]\u0000',
  '\u00a01',
  '\u2028[1]',
];

/** JSON text: scalars, containers, duplicate and prototype keys, all kinds of escapes. */
export function jsonText(random: SeededRandom, depth = 4): string {
  if (depth <= 0 || random.chance(0.5))
    return random.one(
      () => random.pick(numberLiterals),
      () => jsonString(random),
      () => random.pick(['true', 'false', 'null', '{}', '[]']),
    );
  const space = random.pick(['', '', ' ', '\n\t']);
  if (random.chance(0.5)) return `[${random.some(4, () => space + jsonText(random, depth - 1)).join(',')}]`;
  return `{${random.some(5, () => `${space}${jsonKey(random)}:${space}${jsonText(random, depth - 1)}`).join(',')}}`;
}

const keys = [
  'a',
  'b',
  'a',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '0',
  '',
  'x.y',
  'x/y',
  'metadata',
  'spec',
  'kind',
  '\\u005f_proto__',
  'a\\u0000',
  '\\ud800',
];

function jsonKey(random: SeededRandom): string {
  return random.chance(0.8) ? `"${random.pick(keys)}"` : jsonString(random);
}

/** Some characters escaped, others not, including unpaired surrogates. */
export function jsonString(random: SeededRandom): string {
  const text = hostileText(random);
  if (random.chance(0.5)) return JSON.stringify(text);
  return `"${Array.from(text)
    .map((character) => (random.chance(0.3) ? escaped(character) : JSON.stringify(character).slice(1, -1)))
    .join('')}${random.pick(['', '', '\\ud800', '\\udc00\\ud800', '\\u0000', '\\/', '\\b'])}"`;
}

function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** A body that is malformed or exceeds a limit: depth, number of values, size, encoding. */
export function hostileJsonBody(random: SeededRandom, around: (value: string) => string): Buffer {
  return random.one(
    () => Buffer.from(random.pick(malformed)),
    () => Buffer.from(around(random.pick(malformed))),
    () =>
      Buffer.from(
        around(
          nested(
            random.pick([5, 97, 99, 100, 101, 1000, random.chance(0.05) ? 100_000 : 500]),
            random.pick(['[', '{"a":']),
          ),
        ),
      ),
    () => Buffer.from('['.repeat(random.chance(0.05) ? 1_000_000 : 300)),
    () =>
      Buffer.concat([
        Buffer.from(random.pick(['\ufeff', '\ufeff\ufeff', '\ufffe'])),
        Buffer.from(around(jsonText(random))),
      ]),
    () => mutateBytes(random, Buffer.from(around(jsonText(random)))),
    () => Buffer.from(around(jsonText(random)), random.pick(['utf16le', 'latin1'] as const)),
    () =>
      Buffer.concat([
        Buffer.from(around('"')).subarray(0, -3),
        random.pick([
          [0xc3, 0x28],
          [0xed, 0xa0, 0x80],
          [0xf0, 0x80, 0x80, 0xaf],
          [0xf4, 0x90, 0x80, 0x80],
          [0xff],
          [0xc0, 0x80],
        ]).length > 0
          ? Buffer.from([0xed, 0xa0, 0x80])
          : Buffer.alloc(0),
        Buffer.from('"}'),
      ]),
    () => Buffer.from(around(random.chance(0.1) ? wide(random) : jsonText(random, 6))),
  );
}

function nested(depth: number, opening: string): string {
  return opening.repeat(depth) + '1' + (opening === '[' ? ']' : '}').repeat(depth);
}

/** Many values, keys or characters in one container. */
function wide(random: SeededRandom): string {
  const count = random.pick([1000, 30_000, 99_990, 200_000]);
  return random.one(
    () => `[${'1,'.repeat(count)}1]`,
    () => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`,
    () => `{${'"a":1,'.repeat(count)}"a":2}`,
    () => `"${'x'.repeat(count * 10)}"`,
    () => `"${'\\u0041'.repeat(count)}"`,
    () => `[${'[],'.repeat(count)}[]]`,
  );
}
