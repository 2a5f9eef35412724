import { expect, test } from '@jest/globals';
import { SeededFaults } from './seeded-faults.ts';

test('the nth draw of a label has one outcome, whatever else was drawn', () => {
  const alone = new SeededFaults(7);
  const answers = Array.from({ length: 20 }, () => alone.of('patch posts a').next());
  const among = new SeededFaults(7);
  const same = Array.from({ length: 20 }, (_, i) => {
    for (let others = 0; others < i % 3; others += 1) among.of(`list tags ${others}`);
    return among.of('patch posts a').next();
  });
  expect(same).toEqual(answers);
  expect(new Set(answers).size).toBe(20);
});

test.each([0.05, 0.5, 0.9])('a chance of %d occurs that often, over labels and over draws', (probability) => {
  for (const label of [(i: number) => `get posts ${i}`, () => 'get posts']) {
    const faults = new SeededFaults(3);
    const hits = Array.from({ length: 4000 }, (_, i) => faults.of(label(i)).chance(probability)).filter(Boolean).length;
    expect(Math.abs(hits / 4000 - probability)).toBeLessThan(0.04);
  }
});
