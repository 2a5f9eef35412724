import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  directionOf,
  fieldOperators,
  readListView,
  selectionOf,
  toggleSort,
  writeListView,
} from '../../../console/src/list/list-view.ts';

const name = fc.stringMatching(/^[a-z][a-zA-Z0-9.[\]*-]{0,20}$/);
const condition = fc
  .record({ index: name, operator: fc.constantFrom(...fieldOperators), value: fc.string({ unit: 'binary' }) })
  .map((each) => (each.operator === 'exists' || each.operator === 'missing' ? { ...each, value: '' } : each))
  // `f>` and `=1` is `f>=1`.
  .filter(({ operator, value }) => !/^[<>]$/.test(operator) || !value.startsWith('='));
const label = fc.record({
  key: fc.stringMatching(/^[a-z][a-z0-9./-]{0,20}$/),
  value: fc.option(fc.stringMatching(/^[A-Za-z0-9.-]{0,20}$/), { nil: undefined }),
});
const view = fc.record({
  namespace: fc.stringMatching(/^[a-z-]{0,20}$/),
  conditions: fc.array(condition, { maxLength: 5 }),
  labels: fc.array(label, { maxLength: 5 }),
  sort: fc.array(name, { maxLength: 3 }),
  columns: fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }),
});

describe('what a list shows', () => {
  test('is the same after it was a URL', () => {
    fc.assert(
      fc.property(view, (shown) => {
        expect(readListView(new URLSearchParams(writeListView(shown).toString()))).toEqual(shown);
      }),
    );
  });

  test('is read from any URL without a failure', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('f', 'l', 'ns', 'sort', 'col'), fc.string()), { maxLength: 5 }),
        (pairs) => {
          const read = readListView(new URLSearchParams(pairs));
          expect(readListView(writeListView(read))).toEqual(read);
        },
      ),
    );
  });

  test.each([
    ['f=a=1', { a: { in: ['1'] } }],
    ['f=a=1&f=a=2', { a: { in: ['1', '2'] } }],
    ['f=a>=1&f=a<5', { a: { gte: '1', lt: '5' } }],
    ['f=a!=1&f=a', { a: { notIn: ['1'], exists: true } }],
    ['f=!a', { a: { exists: false } }],
    ['f=a^=x=y', { a: { prefix: 'x=y' } }],
    ['f=__proto__=1', Object.fromEntries([['__proto__', { in: ['1'] }]])],
    ['f=!a=1&f==1', {}],
  ])('%s selects %j', (query, where) => {
    expect(selectionOf(readListView(new URLSearchParams(query))).where).toEqual(where);
  });

  test('labels are values, or only there', () => {
    expect(selectionOf(readListView(new URLSearchParams('l=a=b&l=c&l=d='))).labels).toEqual({
      a: 'b',
      c: { exists: true },
      d: '',
    });
  });

  test('a column sorts upwards, downwards, and not at all; others stay if it is added', () => {
    expect(toggleSort([], 'a', { add: false })).toEqual(['a']);
    expect(toggleSort(['a'], 'a', { add: false })).toEqual(['a,desc']);
    expect(toggleSort(['a,desc'], 'a', { add: false })).toEqual([]);
    expect(toggleSort(['b', 'a'], 'a', { add: true })).toEqual(['b', 'a,desc']);
    expect(toggleSort(['b'], 'a', { add: true })).toEqual(['b', 'a']);
    expect(toggleSort(['b', 'c'], 'a', { add: false })).toEqual(['a']);
    expect(directionOf(['b', 'a,desc'], 'a')).toBe('descending');
    expect(directionOf(['b'], 'a')).toBeUndefined();
  });
});
