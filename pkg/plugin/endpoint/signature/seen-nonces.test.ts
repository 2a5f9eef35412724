import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SeenNonces } from './seen-nonces.ts';

test('at any times, no nonce is accepted twice within a period, or kept for three', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 40 })), { maxLength: 60 }), (steps) => {
      const seen = new SeenNonces({ periodMs: 60 });
      const last = new Map<string, number>();
      let now = 0;
      for (const [nonce, pause] of steps) {
        now += pause;
        const age = now - (last.get(String(nonce)) ?? -Infinity);
        const answer = seen.add(String(nonce), now);
        if (age < 60) expect(answer).toBe('seen');
        if (age >= 180) expect(answer).toBe('new');
        if (answer === 'new') last.set(String(nonce), now);
      }
    }),
    { numRuns: 300 },
  );
});

test('when full, it accepts no more until time has passed', () => {
  const seen = new SeenNonces({ periodMs: 60, max: 2 });
  expect(['a', 'b', 'c', 'a'].map((nonce) => seen.add(nonce, 0))).toEqual(['new', 'new', 'full', 'seen']);
  expect(['c', 'a', 'd', 'e'].map((nonce) => seen.add(nonce, 60))).toEqual(['new', 'seen', 'new', 'full']);
});

test('a clock that is set back forgets nothing', () => {
  const seen = new SeenNonces({ periodMs: 60 });
  seen.add('a', 1000);
  expect(seen.add('a', 10)).toBe('seen');
});
