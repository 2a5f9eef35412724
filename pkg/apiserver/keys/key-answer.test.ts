import { expect, test } from '@jest/globals';
import { readAnswerId, readProblems, readRows } from './key-answer.ts';

const unreadable = { fault: 'what its functions gave cannot be read' };

const rows: [reason: string, answer: unknown, found: unknown][] = [
  ['values', { rows: ['[{"v":["a",1,true]},{"f":"far"}]'] }, [[{ values: ['a', 1, true] }, { fault: 'far' }]]],
  ['fewer objects than requested', { rows: ['[{"v":[]},{"v":[]}]'] }, [[{ values: [] }, { values: [] }]]],
  ['no object', { rows: [] }, undefined],
  ['more objects', { rows: ['[]', '[]', '[]'] }, undefined],
  ['no rows', {}, undefined],
  ['invalid rows', { rows: 'hello' }, undefined],
  ['nothing', null, undefined],
  ['no JSON', { rows: ['hello'] }, [[unreadable, unreadable]]],
  ['no text', { rows: [7] }, [[unreadable, unreadable]]],
  ['no list', { rows: ['{"v":5}'] }, [[unreadable, unreadable]]],
  ['too few results', { rows: ['[{"v":[]}]'] }, [[unreadable, unreadable]]],
  ['invalid results', { rows: ['[null,{"v":5}]'] }, [[unreadable, unreadable]]],
  ['invalid values', { rows: ['[{"v":[null]},{"v":[1e999]}]'] }, [[unreadable, unreadable]]],
  ['inherited properties', { rows: ['[{"__proto__":{"v":[]}},{"f":7}]'] }, [[unreadable, unreadable]]],
];
test.each(rows)('valid rows: %s', (_reason, answer, found) => {
  expect(readRows(answer, 2, 2)).toEqual(found);
});

test('the text of a fault is truncated', () => {
  expect(readRows({ rows: [JSON.stringify([{ f: 'x'.repeat(5000) }])] }, 1, 1)).toEqual([
    [{ fault: 'x'.repeat(1000) }],
  ]);
});

const problems: [answer: unknown, found: unknown][] = [
  [{ problems: [] }, []],
  [
    { problems: [{ function: 'f', message: 'no' }, { message: 'none' }] },
    [{ function: 'f', message: 'no' }, { message: 'none' }],
  ],
  [
    { problems: [null, { function: 7, message: 7 }] },
    [{ message: 'it cannot be read' }, { message: 'it cannot be read' }],
  ],
  [{ problems: null }, undefined],
  [undefined, undefined],
];
test.each(problems)('valid problems: %j', (answer, found) => {
  expect(readProblems(answer)).toEqual(found);
});

test.each([null, undefined, 7, {}])('invalid answers: %j', (answer) => {
  expect(readAnswerId(answer)).toBeUndefined();
});
