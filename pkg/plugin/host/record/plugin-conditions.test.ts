import { expect, test } from '@jest/globals';
import type { Condition } from '#pkg/apimachinery/index';
import { changeConditions } from './plugin-conditions.ts';

const past = '2026-01-01T00:00:00Z';
const healthy: Condition = {
  type: 'Healthy',
  status: 'True',
  reason: 'Running',
  message: '',
  lastTransitionTime: past,
  observedGeneration: 1,
};
const valid: Condition = { ...healthy, type: 'FilesValid', reason: 'Valid' };

test('unmentioned conditions stay, removed ones go, and new ones come last', () => {
  const changed = changeConditions(
    [healthy, valid],
    { Healthy: undefined, DependenciesMet: { isTrue: false, reason: 'DependencyMissing', message: 'b' } },
    2,
  );
  expect(changed).toEqual([
    valid,
    {
      type: 'DependenciesMet',
      status: 'False',
      reason: 'DependencyMissing',
      message: 'b',
      lastTransitionTime: expect.any(String),
      observedGeneration: 2,
    },
  ]);
  expect(changeConditions([], { Adopted: undefined }, 1)).toEqual([]);
});

test('the time changes only with the status', () => {
  const [same] = changeConditions([healthy], { Healthy: { isTrue: true, reason: 'Other' } }, 2);
  expect(same).toEqual({ ...healthy, reason: 'Other', observedGeneration: 2 });
  const [other] = changeConditions([healthy], { Healthy: { isTrue: false, reason: 'Threw' } }, 2);
  expect(other!.lastTransitionTime).not.toBe(past);
});

test('a message that cannot be stored is changed into one that can', () => {
  const [given] = changeConditions(
    [],
    { Healthy: { isTrue: false, reason: 'Threw', message: `a\0b\uD800c${'x'.repeat(5000)}` } },
    1,
  );
  expect(given!.message).toMatch(/^a\uFFFDb\uFFFDcx{3995}$/);
});
