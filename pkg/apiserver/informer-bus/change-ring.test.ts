import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Change } from '#pkg/storage/index';
import { ChangeRing } from './change-ring.ts';

function change(revision: number, modelId: number, size = 1): Change {
  return {
    revision,
    modelId,
    type: 'create',
    namespace: '',
    name: String(revision),
    body: 'x'.repeat(size),
    fingerprint: '',
  };
}

describe('ChangeRing', () => {
  test('returns the changes after a revision, or undefined if it no longer has them', () => {
    const ring = new ChangeRing(10, { size: 100, count: 3 });
    for (const revision of [12, 13, 17]) ring.push(change(revision, revision % 2));
    expect(ring.after(10, 1)?.map(({ revision }) => revision)).toEqual([13, 17]);
    expect(ring.after(13, 1)?.map(({ revision }) => revision)).toEqual([17]);
    expect(ring.after(99, 1)).toEqual([]);
    expect(ring.after(9, 1)).toBeUndefined();
    ring.push(change(20, 0));
    expect(ring.oldest).toBe(12);
    expect(ring.after(11, 1)).toBeUndefined();
    expect(ring.after(12, 0)?.map(({ revision }) => revision)).toEqual([20]);
  });

  test('is limited by size too: one change over the limit empties it', () => {
    const ring = new ChangeRing(0, { size: 10, count: 100 });
    ring.push(change(1, 1, 6));
    ring.push(change(2, 1, 6));
    expect(ring.after(1, 1)?.map(({ revision }) => revision)).toEqual([2]);
    expect(ring.after(0, 1)).toBeUndefined();
    ring.push(change(3, 1, 11));
    expect(ring.after(2, 1)).toBeUndefined();
    expect(ring.after(3, 1)).toEqual([]);
  });

  test('never returns an incomplete answer, however long it has run', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(2), { maxLength: 3_000 }),
        fc.integer({ min: 1, max: 50 }),
        fc.nat(3_100),
        (models, count, after) => {
          const ring = new ChangeRing(0, { size: 1e9, count });
          const all = models.map((modelId, index) => change(index + 1, modelId));
          for (const each of all) ring.push(each);
          const answer = ring.after(after, 1);
          if (after < all.length - count) return answer === undefined;
          expect(answer).toEqual(all.filter(({ revision, modelId }) => revision > after && modelId === 1));
          return true;
        },
      ),
      { numRuns: 50 },
    );
  });
});
