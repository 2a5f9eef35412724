import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DelayHeap } from './delay-heap.ts';

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ key: fc.nat({ max: 30 }).map((n) => `k-${n}`), at: fc.nat({ max: 100 }) }) },
    { weight: 1, arbitrary: fc.record({ takeUntil: fc.nat({ max: 100 }) }) },
  ),
  { maxLength: 120 },
);

test('keys arrive in the order of their times, each at the earliest one it was given, with any additions and changes in between', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const heap = new DelayHeap();
      const due = new Map<string, number>();
      for (const step of sequence) {
        if ('key' in step) {
          heap.add(step.key, step.at);
          due.set(step.key, Math.min(step.at, due.get(step.key) ?? Infinity));
        } else {
          for (let key = heap.takeDue(step.takeUntil); key !== undefined; key = heap.takeDue(step.takeUntil)) {
            expect(due.get(key)).toBe(Math.min(...due.values()));
            expect(due.get(key)).toBeLessThanOrEqual(step.takeUntil);
            due.delete(key);
          }
          expect(Math.min(Infinity, ...due.values())).toBeGreaterThan(step.takeUntil);
        }
        expect(heap.next).toBe(due.size === 0 ? undefined : Math.min(...due.values()));
        expect(heap.size).toBe(due.size);
      }
    }),
    { numRuns: 300 },
  );
});
