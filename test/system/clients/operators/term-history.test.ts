import { expect, test } from '@jest/globals';
import { TermHistory } from './term-history.ts';

function historyOf(...writes: [object: string, by: string, term: number][]): TermHistory {
  const history = new TermHistory('operator');
  for (const [index, [object, by, term]] of writes.entries()) history.note(object, { by, term, generation: index });
  return history;
}

test('counts terms and their leaders', () => {
  const history = historyOf(['x', 'a', 0], ['y', 'a', 0], ['x', 'b', 1]);
  expect([history.violations, history.terms, [...history.leaders], history.leader]).toEqual([[], 2, ['a', 'b'], 'b']);
});

test.each([
  ['an earlier term', historyOf(['x', 'a', 0], ['y', 'b', 1], ['z', 'a', 0]), 'z: term 0 of a after 1 of b'],
  ['two leaders of a term', historyOf(['x', 'a', 0], ['y', 'b', 0]), 'y: term 0 of b after 0 of a'],
])('%s is a violation', (_, { violations }, message) => {
  expect(violations).toEqual([`operator, ${message}`]);
});

test('a change of another field of an object is no write', () => {
  const history = historyOf(['x', 'a', 0], ['y', 'b', 1]);
  history.note('x', { by: 'a', term: 0, generation: 0 });
  history.note('x', undefined);
  expect([history.violations, history.leader]).toEqual([[], 'b']);
});
