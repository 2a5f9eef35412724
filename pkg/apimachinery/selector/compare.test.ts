import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { IndexDefinition, IndexKey } from '../scheme/index-definition.ts';
import { compareBySort, compareIndexValues, type Sortable } from './compare.ts';
import type { Sort } from './requirement.ts';

const index: IndexDefinition = { name: 'f', path: 'f', type: 'string', multi: false, unique: false, nullable: true };
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('a', '\uffff', '\ue000', '\ud7ff', '\u{10000}', '\u{10ffff}'), maxLength: 4 }),
);

describe('two keys', () => {
  const rows: [reason: string, smaller: string | number | boolean | null, larger: string | number | boolean | null][] =
    [
      ['null before the empty string', null, ''],
      ['null before false', null, false],
      ['false before true', false, true],
      ['numbers by value, not as text', 9, 10],
      ['negative numbers', -1, 0],
      ['capitals before small letters, as in collation C', 'Z', 'a'],
      ['a prefix before the longer text', 'ab', 'abc'],
      ['code points, not UTF-16 units', '\uffff', '\u{10000}'],
    ];
  test.each(rows)('%s', (_reason, smaller, larger) => {
    expect(Math.sign(compareIndexValues(smaller, larger))).toBe(-1);
    expect(Math.sign(compareIndexValues(larger, smaller))).toBe(1);
    expect(compareIndexValues(larger, larger)).toBe(0);
  });
});

test("strings are ordered as PostgreSQL's collation C orders their UTF-8 bytes", () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareIndexValues(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { numRuns: 1000 },
  );
});

test('a sort is a total order', () => {
  const key: fc.Arbitrary<IndexKey> = fc.option(fc.constantFrom('a', 'b', '\u{10000}', '\uffff'));
  const object: fc.Arbitrary<Sortable> = fc.record({
    namespace: fc.constantFrom('', 'n'),
    name: fc.constantFrom('x', 'y'),
    keys: fc.tuple(key, key),
  });
  const directions = fc.array(fc.boolean(), { maxLength: 2 });
  fc.assert(
    fc.property(directions, object, object, object, (descending, a, b, c) => {
      const compare = compareBySort(descending.map((direction) => ({ index, descending: direction })));
      expect(Math.sign(compare(a, b)) === -Math.sign(compare(b, a))).toBe(true);
      expect(compare(a, b) === 0).toBe(identity(a, descending.length) === identity(b, descending.length));
      for (const [x, y, z] of [
        [a, b, c],
        [b, c, a],
        [c, a, b],
      ] as const) {
        if (compare(x, y) <= 0 && compare(y, z) <= 0) expect(compare(x, z)).toBeLessThanOrEqual(0);
      }
    }),
    { numRuns: 500 },
  );
});

describe('lists', () => {
  const one = { namespace: 'a', name: 'one', keys: ['x', 1] };
  const two = { namespace: 'a', name: 'two', keys: ['x', 1] };
  const other = { namespace: 'b', name: 'one', keys: ['x', 1] };
  const none = { namespace: 'a', name: 'none', keys: [null, 1] };
  const rows: [reason: string, descending: boolean[], expected: Sortable[]][] = [
    ['no sort: by namespace and name', [], [none, one, two, other]],
    ['ascending: nulls first', [false], [none, one, two, other]],
    ['descending: nulls last, ties descending', [true], [other, two, one, none]],
    ['ties in the direction of the last key', [false, true], [none, other, two, one]],
    ['ties ascending after a descending key', [true, false], [one, two, other, none]],
  ];
  test.each(rows)('%s', (_reason, descending, expected) => {
    const sort: Sort = descending.map((direction) => ({ index, descending: direction }));
    expect([two, none, other, one].toSorted(compareBySort(sort))).toEqual(expected);
  });
});

function identity({ namespace, name, keys }: Sortable, sorted: number): string {
  return JSON.stringify([namespace, name, keys.slice(0, sorted)]);
}
