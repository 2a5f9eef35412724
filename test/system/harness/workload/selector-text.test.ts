import { expect, test } from '@jest/globals';
import type { FieldClause, LabelClause } from '../history/history.ts';
import { selectorParameters } from './selector-text.ts';

const labels: { clause: LabelClause; text: string }[] = [
  { clause: { key: 'team', operator: 'in', values: ['a'] }, text: 'team=a' },
  { clause: { key: 'team', operator: 'in', values: ['a', 'b'] }, text: 'team in (a,b)' },
  { clause: { key: 'team', operator: 'notIn', values: ['a'] }, text: 'team!=a' },
  { clause: { key: 'team', operator: 'notIn', values: ['a', 'b'] }, text: 'team notin (a,b)' },
  { clause: { key: 'team', operator: 'exists' }, text: 'team' },
  { clause: { key: 'team', operator: 'absent' }, text: '!team' },
];
test.each(labels)('$text', ({ clause, text }) => {
  expect(selectorParameters({ labels: [clause], fields: [] }).get('labelSelector')).toBe(text);
});

const fields: { clause: FieldClause; text: string }[] = [
  { clause: { field: 'spec.priority', operator: '>=', value: 3 }, text: 'spec.priority>=3' },
  { clause: { field: 'spec.slug', operator: 'prefix', value: 's' }, text: 'spec.slug^=s' },
  { clause: { field: 'spec.tags', operator: 'in', values: ['red', 'blue'] }, text: 'spec.tags in (red,blue)' },
  { clause: { field: 'spec.slug', operator: 'absent' }, text: '!spec.slug' },
];
test.each(fields)('$text', ({ clause, text }) => {
  expect(selectorParameters({ labels: [], fields: [clause] }).get('fieldSelector')).toBe(text);
});

test('clauses are joined, and what selects everything is not there', () => {
  expect(selectorParameters({ labels: [labels[0]!.clause, labels[5]!.clause], fields: [] }).toString()).toBe(
    'labelSelector=team%3Da%2C%21team',
  );
  expect(selectorParameters({ labels: [], fields: [] }).toString()).toBe('');
});
