import { expect, test } from '@jest/globals';
import type { Condition } from '#pkg/apimachinery/index';
import { setCondition } from './condition.ts';

const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Up',
  message: 'is up',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const other: Condition = { ...ready, type: 'Other' };
const now = '2026-01-02T00:00:00Z';

test('a new condition is added', () => {
  expect(setCondition([other], { type: 'Ready', status: 'True', reason: 'Up', message: 'is up' }, now)).toEqual([
    other,
    { ...ready, lastTransitionTime: now },
  ]);
});

test('the transition time stays if only the reason changes', () => {
  expect(setCondition([ready, other], { type: 'Ready', status: 'True', reason: 'Better', message: '' }, now)).toEqual([
    { ...ready, reason: 'Better', message: '' },
    other,
  ]);
});

test('the transition time changes with the status', () => {
  expect(setCondition([ready], { type: 'Ready', status: 'False', reason: 'Down', message: '' }, now)).toEqual([
    { type: 'Ready', status: 'False', reason: 'Down', message: '', lastTransitionTime: now },
  ]);
});
