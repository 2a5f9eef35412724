import { expect, test } from '@jest/globals';
import { readAnswerId, readProblems, readRows } from './key-answer.ts';

const unreadable = { fault: 'what its functions gave cannot be read' };

const rows: [reason: string, answer: unknown, found: unknown][] = [
  ['values', { rows: ['[{"v":["a",1,true]},{"f":"far"}]'] }, [[{ values: ['a', 1, true] }, { fault: 'far' }]]],
  ['fewer objects than asked for', { rows: ['[{"v":[]},{"v":[]}]'] }, [[{ values: [] }, { values: [] }]]],
  ['no object', { rows: [] }, undefined],
  ['more objects', { rows: ['[]', '[]', '[]'] }, undefined],
  ['no rows', {}, undefined],
  ['rows that are none', { rows: 'hello' }, undefined],
  ['nothing', null, undefined],
  ['no JSON', { rows: ['hello'] }, [[unreadable, unreadable]]],
  ['no text', { rows: [7] }, [[unreadable, unreadable]]],
  ['no list', { rows: ['{"v":5}'] }, [[unreadable, unreadable]]],
  ['too few results', { rows: ['[{"v":[]}]'] }, [[unreadable, unreadable]]],
  ['results that are none', { rows: ['[null,{"v":5}]'] }, [[unreadable, unreadable]]],
  ['values that are none', { rows: ['[{"v":[null]},{"v":[1e999]}]'] }, [[unreadable, unreadable]]],
  ['what is only inherited', { rows: ['[{"__proto__":{"v":[]}},{"f":7}]'] }, [[unreadable, unreadable]]],
];
test.each(rows)('rows: %s', (_reason, answer, found) => {
  expect(readRows(answer, 2, 2)).toEqual(found);
});

test('a fault has an end', () => {
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
test.each(problems)('problems: %j', (answer, found) => {
  expect(readProblems(answer)).toEqual(found);
});

test.each([null, undefined, 7, {}])('no answer: %j', (answer) => {
  expect(readAnswerId(answer)).toBeUndefined();
});
