import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Gauge, Registry } from 'prom-client';
import { meanOf, rateOf } from '../../../console/src/health/metrics-reading.ts';
import { parseMetrics, sumOf } from '../../../console/src/health/parse-metrics.ts';
import { numberRanges, timeRanges, type Range } from '../../../console/src/plots/ranges.ts';

describe('parseMetrics', () => {
  test('reads what the library of the server writes, whatever its labels hold', async () => {
    const labels = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), fc.string({ unit: 'binary', maxLength: 20 }), {
      minKeys: 1,
      maxKeys: 3,
      noNullPrototype: true,
    });
    const value = fc.oneof(fc.double(), fc.constantFrom(0, -0, Infinity, -Infinity, NaN));
    await fc.assert(
      fc.asyncProperty(labels, value, async (given, number) => {
        const register = new Registry();
        const gauge = new Gauge({
          name: 'some_number',
          help: 'some\nhelp',
          labelNames: Object.keys(given),
          registers: [register],
        });
        gauge.set(given, number);
        const read = parseMetrics(await register.metrics());
        expect([...read.keys()]).toEqual(['some_number']);
        expect(read.get('some_number')).toEqual([{ labels: given, value: number === 0 ? expect.closeTo(0) : number }]);
      }),
      { numRuns: 50 },
    );
  });

  test('sums over labels, and what the server could not tell is not zero', () => {
    const metrics = parseMetrics(
      '# HELP a x\na{b="1",c="2"} 3\na{b="1",c="4"} 5\na{b="9"} NaN\n\nlone 7 1700000000000\nbroken\n',
    );
    expect(sumOf(metrics, 'a')).toBe(8);
    expect(sumOf(metrics, 'a', { c: '4' })).toBe(5);
    expect(sumOf(metrics, 'a', { b: '9' })).toBeUndefined();
    expect(sumOf(metrics, 'absent')).toBeUndefined();
    expect(sumOf(metrics, 'lone')).toBe(7);
  });
});

describe('two readings of the metrics', () => {
  const reading = (at: number, count: number, started = 1) => ({
    metrics: parseMetrics(
      [
        `process_start_time_seconds ${started}`,
        `wait_seconds_count{route="a"} ${count}`,
        `wait_seconds_count{route="b"} 4`,
        `wait_seconds_sum ${count * 3}`,
      ].join('\n'),
    ),
    at,
  });

  test('tell how many there are a second, and how long one takes', () => {
    expect(rateOf('wait_seconds_count', reading(12_000, 150), reading(2000, 50))).toBe(10);
    expect(meanOf('wait_seconds', reading(12_000, 150), reading(2000, 50))).toBe(3);
  });

  test('tell nothing if there is only one, if nothing happened, or if they are of two processes', () => {
    expect(rateOf('wait_seconds_count', reading(10, 150), undefined)).toBeUndefined();
    expect(rateOf('wait_seconds_count', reading(10, 150), reading(0, 50, 2))).toBeUndefined();
    expect(rateOf('absent', reading(10, 150), reading(0, 50))).toBeUndefined();
    expect(meanOf('wait_seconds', reading(10, 50), reading(0, 50))).toBeUndefined();
  });
});

describe('the ranges of a plot', () => {
  function expectCover(ranges: readonly Range[], min: number, max: number): void {
    expect(ranges.length).toBeLessThanOrEqual(25);
    expect(ranges[0]!.from).toBeLessThanOrEqual(min);
    expect(ranges.at(-1)!.to).toBeGreaterThan(max);
    for (const [at, range] of ranges.entries()) {
      expect(range.to).toBeGreaterThan(range.from);
      if (at > 0) expect(range.from).toBe(ranges[at - 1]!.to);
    }
  }

  test('hold every integer once, at round numbers', () => {
    const number = fc.integer({ min: -1_000_000_000, max: 1_000_000_000 });
    fc.assert(
      fc.property(number, number, (a, b) => {
        const ranges = numberRanges(Math.min(a, b), Math.max(a, b), { isInteger: true });
        expectCover(ranges, Math.min(a, b), Math.max(a, b));
        expect(ranges.every(({ from, to }) => Number.isInteger(from) && Number.isInteger(to))).toBe(true);
      }),
    );
    expect(numberRanges(3, 97, { isInteger: true })[0]).toEqual({ from: 0, to: 5 });
  });

  test('hold every moment once', () => {
    const moment = fc.integer({ min: 0, max: 4_102_444_800_000 });
    fc.assert(
      fc.property(moment, moment, (a, b) =>
        expectCover(timeRanges(Math.min(a, b), Math.max(a, b)), Math.min(a, b), Math.max(a, b)),
      ),
    );
  });
});
