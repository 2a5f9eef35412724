import { describe, expect, test } from '@jest/globals';
import { isNotModified, parseEntityTags } from './entity-tags.ts';

describe('entity tags', () => {
  test.each([
    [undefined, undefined],
    ['*', { any: true, strong: [], weak: [] }],
    ['"5"', { any: false, strong: ['5'], weak: [] }],
    ['"5", W/"6" ,"7"', { any: false, strong: ['5', '7'], weak: ['6'] }],
    ['""', { any: false, strong: [''], weak: [] }],
    [',"5",', { any: false, strong: ['5'], weak: [] }],
  ])('%p', (header, tags) => {
    expect(parseEntityTags(header, 'If-Match')).toEqual(tags);
  });

  test.each(['', ',', '5', '"5', 'w/"5"', '"5" "6"', '*, "5"', '"a,b"', '"\u0001"', 'x'.repeat(10_000)])(
    '%p is a 400',
    (header) => {
      expect(() => parseEntityTags(header, 'If-Match')).toThrow(expect.objectContaining({ code: 400 }));
    },
  );

  test.each([
    ['no header', undefined, false],
    ['this tag', '"5"', true],
    ['a weak tag', 'W/"5"', true],
    ['among others', '"1", "5"', true],
    ['any', '*', true],
    ['another', '"6"', false],
  ])('If-None-Match: %s', (_reason, header, expected) => {
    expect(isNotModified(header, '5')).toBe(expected);
  });
});
