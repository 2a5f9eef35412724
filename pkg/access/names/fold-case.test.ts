import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fold } from './fold-case.ts';

test.each([
  { one: 'MIA', other: 'mia', reason: 'capitals' },
  { one: 'ＭＩＡ', other: 'mia', reason: 'wide letters' },
  { one: 'ΑΣ', other: 'ας', reason: 'a sigma at the end of a word' },
  { one: 'ΑΣ', other: 'ασ', reason: 'the same sigma, as no other letter ends a word' },
  { one: 'Straße', other: 'STRASSE', reason: 'a letter whose capitals are two' },
  { one: 'STRAẞE', other: 'strasse', reason: 'and which has a capital of its own' },
  { one: 'ǰ', other: 'J\u030C', reason: 'a letter whose capital is a letter and a mark' },
  { one: 'İ', other: 'i', reason: 'a letter whose small one has a mark' },
  { one: 'I\u0316\u0307\u0307', other: 'i\u0316', reason: 'marks between, and twice' },
  { one: 'ﬃ', other: 'FFI', reason: 'a ligature' },
  { one: 'e\u0301', other: 'É', reason: 'composed and decomposed' },
])('$one is $other: $reason', ({ one, other }) => {
  expect(fold(one)).toBe(fold(other));
});

test('names that differ in more than case stay different', () => {
  expect(new Set(['a', 'á', 'ą', 'ȧ', 'j', 'ss', 's'].map(fold)).size).toBe(7);
});

test('folding twice changes nothing, and neither do capitals', () => {
  for (let code = 0; code < 0x30000; code += 1) {
    const letter = String.fromCodePoint(code);
    const folded = fold(letter);
    if (fold(folded) !== folded || fold(letter.toUpperCase()) !== folded || fold(letter.toLowerCase()) !== folded)
      throw new Error(`U+${code.toString(16)}`);
  }
  const specialText = fc.constantFrom(
    ...Array.from('iIİıjJßẞσςΣΩÅǅⅠﬃ\u0307\u0307\u0345\u0316\u0301\u0327\u03B9\u1FBC\uD800'),
  );
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(specialText, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })),
        maxLength: 12,
      }),
      (text) => {
        expect(fold(fold(text))).toBe(fold(text));
      },
    ),
    { numRuns: 2000 },
  );
});

test('a text that is not a name costs nothing, in any order of its marks', () => {
  const began = performance.now();
  for (const length of [1023, 500_000]) fold(`a${'\u0300\u0316'.repeat(length / 2)}`);
  expect(performance.now() - began).toBeLessThan(20_000);
  expect(fold('A'.repeat(1025))).toBe('A'.repeat(1025));
  expect(fold('A'.repeat(1024))).toBe('a'.repeat(1024));
});
