import { describe, expect, test } from '@jest/globals';
import type { History } from '../history.ts';
import { SeededRandom } from '../../seeded-random.ts';
import { checkHistory } from './check-history.ts';
import { EditableHistory } from './simulator/editable-history.ts';
import { plantedFaults } from './simulator/planted-faults.ts';
import { simulateHistory } from './simulator/simulate-history.ts';

const seeds = 150;
/** A fault is planted in at most this many histories, and must fit into at least that many. */
const plantings = 5;
const enough = 4;

const histories: History[] = Array.from({ length: 40 }, (_, i) =>
  simulateHistory(i + 1, { requests: 25, drop: i % 2 === 1 }),
);

describe('a system that keeps its promises', () => {
  test('has no violations, whatever its clients do', () => {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const { violations } = checkHistory(simulateHistory(seed, { drop: seed % 2 === 0 }));
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  test('is examined in every respect', () => {
    const sum = new Map<string, number>();
    for (const history of histories)
      for (const [what, count] of Object.entries(checkHistory(history).statistics))
        sum.set(what, (sum.get(what) ?? 0) + count);
    expect(examined.filter((what) => (sum.get(what) ?? 0) < 20)).toEqual([]);
  });
});

const examined = [
  'bookmarks',
  'deletions of unknown outcome',
  'events ADDED',
  'events DELETED',
  'events MODIFIED',
  'events of a selection entered',
  'events of a selection left',
  'final states',
  'lists checked',
  'models dropped',
  'objects of a deleted collection',
  'objects read',
  'refusals 404',
  'refusals 409',
  'repeated requests',
  'repeated requests answered alike',
  'unique values taken',
  'unknown writes applied',
  'unknown writes not applied',
  'watches begun from a list',
  'watches ended expired',
  'watches ended live',
  'watches resumed',
];

describe('a planted fault is caught', () => {
  const texts = histories.map((history) => JSON.stringify(history));

  test.each(plantedFaults.map((fault) => [fault.name, fault] as const))('%s', (_name, { rule, plant }) => {
    let planted = 0;
    for (const [i, text] of texts.entries()) {
      const copy = new EditableHistory(text, new SeededRandom(i));
      if (!plant(copy)) continue;
      expect(JSON.stringify(copy.history) === text).toBe(false);
      const { counts } = checkHistory(copy.history);
      expect({ seed: copy.history.seed, rules: Object.keys(counts) }).toEqual({
        seed: copy.history.seed,
        rules: expect.arrayContaining([rule]) as unknown,
      });
      planted += 1;
      if (planted === plantings) break;
    }
    expect(planted).toBeGreaterThanOrEqual(enough);
  });
});
