import type { SeededRandom } from '../../harness/seeded-random.ts';

/** Strings that are known to break programs, usable anywhere. */
export const hostileTexts: readonly string[] = [
  '',
  ' ',
  '.',
  '..',
  '-',
  '_',
  '0',
  '-0',
  '-1',
  '1e400',
  'NaN',
  'null',
  'undefined',
  'true',
  '[]',
  '{}',
  '\u0000',
  'a\u0000b',
  '\u0001',
  '\u007f',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\ufffe',
  '\uffff',
  '\ud800',
  '\udc00',
  'a\ud83d',
  '\u{1f600}',
  '\u{10ffff}',
  '\u202eabc',
  'e\u0301',
  '\u00e9',
  '\u0130',
  '\u00df',
  '\u1e9e',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'then',
  'length',
  '$ref',
  '%s%n',
  '%00',
  "'",
  "''; --",
  '"',
  '\\',
  '\\\\',
  '\\u0000',
  '`',
  '$1',
  '$$',
  '${1}',
  '{{1}}',
  '<script>',
  '../../etc/passwd',
  'C:\\',
  '~0',
  '~1',
  '~',
  '/',
  '//',
  '*',
  '%',
  '_%',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '1'.repeat(400),
  '0x10',
  '1_000',
  '١',
  '2026-02-30T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:60Z',
  '+275760-09-13T00:00:00Z',
  'a'.repeat(63),
  'a'.repeat(64),
  'a'.repeat(253),
  'a'.repeat(254),
  'a'.repeat(1025),
  'é'.repeat(513),
  '\u{1f600}'.repeat(300),
];

/** One of these, a mixture, or random characters. */
export function hostileText(random: SeededRandom): string {
  return random.one(
    () => random.pick(hostileTexts),
    () => random.pick(hostileTexts) + random.pick(hostileTexts),
    () => randomText(random, 12),
    () => mutateText(random, random.pick(hostileTexts)),
  );
}

const alphabets = [
  'abcxyz019',
  'ab=,!()<>^\\ \t"\'',
  '\u0000\u0001\n\r\t \u00a0',
  '\u{1f600}éß\ud800\udc00',
  '{}[]:,"&*!|>%@`#-?',
];

export function randomText(random: SeededRandom, most: number): string {
  const characters = Array.from(random.pick(alphabets));
  return random.some(most, () => random.pick(characters)).join('');
}

/** The text with a few characters dropped, doubled, replaced or swapped. */
export function mutateText(random: SeededRandom, text: string): string {
  let result = text;
  for (let i = random.between(1, 3); i > 0; i -= 1) {
    const at = random.below(result.length + 1);
    const piece = result.slice(at, at + random.between(1, 4));
    const inserted = random.one(
      () => '',
      () => piece + piece,
      () => randomText(random, 3),
      () => String.fromCharCode(random.below(0x80)),
    );
    result = result.slice(0, at) + inserted + result.slice(at + (random.chance(0.5) ? piece.length : 0));
  }
  return result;
}

/** The same for bytes; the result may be invalid UTF-8. */
export function mutateBytes(random: SeededRandom, bytes: Buffer): Buffer {
  const at = random.below(bytes.length + 1);
  const cut = random.chance(0.5) ? random.below(4) : 0;
  const inserted = random.one(
    () => Buffer.alloc(0),
    () => random.bytes(random.below(4)),
    () => bytes.subarray(at, at + random.below(40)),
    () => Buffer.from(random.pick(hostileTexts)),
  );
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + cut)]);
}
