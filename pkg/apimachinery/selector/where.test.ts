import { describe, expect, test } from '@jest/globals';
import { selectorsOf, type WhereSelection, type IndexTypes } from './where.ts';

describe('selectors', () => {
  const rows: [string, WhereSelection<IndexTypes>, ReturnType<typeof selectorsOf>][] = [
    ['of nothing', {}, {}],
    ['without a value', { where: { a: undefined, b: { in: undefined } } as unknown as object }, {}],
    [
      'of values',
      { where: { a: 'x', b: 5, c: true, d: { in: ['x', 'y z'] }, e: { notIn: ['x'] } } },
      { fieldSelector: String.raw`a=x,b=5,c=true,d in (x,y\ z),e!=x` },
    ],
    [
      'of ranges',
      { where: { a: { gte: 'b', lt: 'c' }, b: { gt: 1, lte: 2 ** 60 }, c: { prefix: 'x' } } },
      { fieldSelector: 'a>=b,a<c,b>1,b<=1.152921504606847e+18,c^=x' },
    ],
    ['of presence', { where: { a: { exists: true }, b: { exists: false } } }, { fieldSelector: 'a,!b' }],
    ['of hostile values', { where: { a: 'x,b=(y)' } }, { fieldSelector: String.raw`a=x\,b\=(y)` }],
    [
      'of labels',
      { labels: { a: 'x', b: { in: ['x', 'y'] }, c: { notIn: ['x'] }, 'd.example/e': { exists: false } } },
      { labelSelector: 'a=x,b in (x,y),c!=x,!d.example/e' },
    ],
  ];
  test.each(rows)('%s', (_reason, selection, expected) => {
    expect(selectorsOf(selection)).toEqual(expected);
  });

  const refused: [string, WhereSelection<IndexTypes>][] = [
    ['an index', { where: { 'a=x,b': 'y' } }],
    ['a label', { labels: { 'a,b': 'x' } }],
    ['a value of a label', { labels: { a: 'x,b=y' } }],
    ['one of the values of a label', { labels: { a: { notIn: ['x', '(y'] } } }],
  ];
  test.each(refused)('refuses what is not the word of %s', (_reason, selection) => {
    expect(() => selectorsOf(selection)).toThrow(/^a selector cannot have the word /);
  });
});
