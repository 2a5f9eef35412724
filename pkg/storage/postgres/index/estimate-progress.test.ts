import { expect, test } from '@jest/globals';
import { estimateProgress, withSample, type ProgressSample } from './estimate-progress.ts';

function samplesOf(...points: [atMs: number, done: number, total?: number][]): ProgressSample[] {
  return points.map(([atMs, done, total = 100]) => ({ atMs, done, total }));
}

test.each<[string, ProgressSample[], ReturnType<typeof estimateProgress>]>([
  ['nothing is known', [], {}],
  ['the total is not known', samplesOf([0, 0, 0], [5_000, 10, 0]), {}],
  ['there is one sample', samplesOf([0, 25]), { done: 0.25 }],
  ['the time is too short for a rate', samplesOf([0, 0], [900, 50]), { done: 0.5 }],
  ['nothing advances', samplesOf([0, 30], [50_000, 30]), { done: 0.3 }],
  ['a counter goes back', samplesOf([0, 30], [5_000, 20]), { done: 0.2 }],
  ['it advances', samplesOf([0, 0], [1_000, 5], [10_000, 20]), { done: 0.2, secondsLeft: 40 }],
  ['it continues what was done before', samplesOf([0, 90], [2_000, 92]), { done: 0.92, secondsLeft: 8 }],
  ['the total has grown', samplesOf([0, 0], [10_000, 50, 200]), { done: 0.25, secondsLeft: 30 }],
  ['more is done than was expected', samplesOf([0, 0], [10_000, 120]), { done: 0.99, secondsLeft: 0 }],
  ['the last part is done', samplesOf([0, 0], [10_000, 100]), { done: 0.99, secondsLeft: 0 }],
])('when %s', (_reason, samples, estimate) => {
  expect(estimateProgress(samples)).toEqual(estimate);
});

test('the rate is that of the last minute, from about one sample a second', () => {
  let samples: ProgressSample[] = [];
  // One part a second for two minutes, then ten parts a second.
  for (let atMs = 0; atMs <= 120_000; atMs += 100)
    samples = withSample(samples, { atMs, done: atMs / 1_000, total: 1_000 });
  expect(estimateProgress(samples).secondsLeft).toBeCloseTo(880);
  expect(samples.length).toBeLessThan(65);
  for (let atMs = 120_100; atMs <= 180_000; atMs += 100)
    samples = withSample(samples, { atMs, done: 120 + (atMs - 120_000) / 100, total: 1_000 });
  expect(estimateProgress(samples).secondsLeft).toBeCloseTo(28, 0);
});
