import { expect, test } from '@jest/globals';
import fc from 'fast-check';

const texts = fc.string({ unit: 'binary', maxLength: 20 });

test('the unit binary has every character that is no half of a pair', () => {
  const edges = ['\0', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}', ''];
  const halves = ['\ud800', '\udfff', 'a\udbff'];
  expect([...edges, ...halves].filter((text) => !texts.canShrinkWithoutContext(text))).toEqual(halves);
});

test('its values are of all planes, and those of fast-check that are dangerous in JavaScript', () => {
  const values = fc.sample(texts, { seed: 1, numRuns: 2000 });
  expect(values.some((text) => /\p{Cs}/u.test(text))).toBe(false);
  expect(new Set(values.flatMap((text) => Array.from(text, (one) => one.codePointAt(0)! >> 16))).size).toBe(17);
  expect(values).toContain('__proto__');
});
