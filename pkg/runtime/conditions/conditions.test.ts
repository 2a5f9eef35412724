import { describe, expect, test } from '@jest/globals';
import type { ApiObject, Condition } from '#pkg/apimachinery/index';
import { conditionOf, isConditionTrue, withCondition } from './conditions.ts';

type Post = ApiObject<{ title: string }, { words?: number; conditions?: Condition[] }>;

const post = (conditions?: Condition[]): Post => ({
  apiVersion: 'v1',
  kind: 'Post',
  metadata: { name: 'a', generation: 3 },
  spec: { title: 'a' },
  ...(conditions === undefined ? {} : { status: { words: 2, conditions } }),
});
const ready = { type: 'Ready', status: 'True', reason: 'Published', message: '' } as const;
const since: Condition = { ...ready, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 3 };

describe('an object with a condition set', () => {
  test('has the observed generation and the time of the transition', () => {
    const read = post();
    const wanted = withCondition(read, ready);
    expect(wanted.status?.conditions).toEqual([
      {
        ...ready,
        observedGeneration: 3,
        lastTransitionTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    ]);
    expect(read).toEqual(post());
  });

  test('is the same object if nothing changed: there is nothing to write', () => {
    expect(withCondition(post([since]), ready)).toEqual(post([since]));
  });

  test('keeps the time while the status is unchanged, and all other fields of its status', () => {
    const wanted = withCondition(post([{ ...since, observedGeneration: 2 }]), { ...ready, message: 'again' });
    expect(wanted.status).toEqual({ words: 2, conditions: [{ ...since, message: 'again' }] });
    expect(
      withCondition(post([since]), { ...ready, status: 'False' }).status?.conditions?.[0]?.lastTransitionTime,
    ).not.toBe(since.lastTransitionTime);
  });
});

test.each([
  ['true of this generation', since, true],
  ['true of an earlier one', { ...since, observedGeneration: 2 }, false],
  ['false', { ...since, status: 'False' as const }, false],
  ['another', { ...since, type: 'Other' }, false],
])('a condition that is %s', (_, condition, holds) => {
  expect(isConditionTrue(post([condition]), 'Ready')).toBe(holds);
});

test('a condition without a generation applies to any', () => {
  const { observedGeneration: _, ...condition } = since;
  expect(isConditionTrue(post([condition]), 'Ready')).toBe(true);
  expect(conditionOf(post(), 'Ready')).toBeUndefined();
});
