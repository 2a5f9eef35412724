import { expect, test } from '@jest/globals';
import type { IndexDefinition } from '#pkg/apimachinery/index';
import { planIndexes } from './plan-indexes.ts';
import type { Column } from './table.ts';

const index = (rest: Partial<IndexDefinition> = {}): IndexDefinition => ({
  name: 'a',
  path: '',
  type: 'string',
  multi: false,
  unique: false,
  nullable: true,
  computed: { function: 'a', script: 's1', id: 'id1' },
  ...rest,
});
const present: Column[] = [{ name: 'i_1', index: index(), state: 'ready', since: 7 }];
const anew = { computed: { function: 'a', script: 's2', id: 'id2' } };

test('nothing is done if nothing changed', () => {
  expect(planIndexes(present, [index()], 1)).toEqual({
    columns: present,
    added: [],
    reused: [],
    made: 1,
    unchanged: true,
  });
});

const rows: [what: string, declared: IndexDefinition, state?: Column['state']][] = [
  ['a changed function', index(anew)],
  ['a changed function before the index was ready', index(anew), 'building'],
  ['what failed', index(anew), 'failed'],
  ['an index that returns before its column was dropped', index(), 'dropping'],
  ['an index that becomes unique', index({ unique: true })],
];

test.each(rows)('the column is kept under another name, to be filled again: %s', (_what, declared, state = 'ready') => {
  const column: Column = { name: 'i_2', index: declared, state: 'building' };
  expect(planIndexes([{ name: 'i_1', index: index(), state }], [declared], 1)).toEqual({
    columns: [column],
    added: [],
    reused: [{ from: 'i_1', to: column }],
    made: 2,
    unchanged: false,
  });
});

test.each([index({ ...anew, type: 'integer' }), index({ ...anew, multi: true }), index({ ...anew, name: 'b' })])(
  'the column is dropped if keys have another form or name: %j',
  (declared) => {
    const column: Column = { name: 'i_2', index: declared, state: 'building' };
    expect(planIndexes(present, [declared], 1)).toEqual({
      columns: [{ name: 'i_1', index: index(), state: 'dropping' }, column],
      added: [column],
      reused: [],
      made: 2,
      unchanged: false,
    });
  },
);

test('a column is reused once', () => {
  const { reused, added } = planIndexes(
    [...present, { name: 'i_2', index: index(anew), state: 'dropping' }],
    [index({ unique: true }), index({ name: 'b' })],
    2,
  );
  expect([reused.map(({ from, to }) => [from, to.name]), added.map(({ name }) => name)]).toEqual([
    [['i_1', 'i_3']],
    ['i_4'],
  ]);
});
