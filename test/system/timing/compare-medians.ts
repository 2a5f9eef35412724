import type { SeededRandom } from '../harness/seeded-random.ts';

export interface MedianDifference {
  /** Medians, in the unit of the samples. */
  first: number;
  second: number;
  /** Bounds of the difference between second and first: the true one is inside for 99.9 % of such measurements. */
  low: number;
  high: number;
}

const resamples = 2000;
/** Probability outside on each side of the interval. */
const tail = 0.0005;

/**
 * The difference of the medians of two series, with an interval by the bootstrap's percentiles, which assumes no
 * distribution.
 */
export function compareMedians(
  first: readonly number[],
  second: readonly number[],
  random: SeededRandom,
): MedianDifference {
  const differences = Float64Array.from(
    { length: resamples },
    () => medianOf(resampled(second, random)) - medianOf(resampled(first, random)),
  ).toSorted();
  const at = (share: number): number => differences[Math.min(resamples - 1, Math.floor(share * resamples))]!;
  return {
    first: medianOf(Float64Array.from(first)),
    second: medianOf(Float64Array.from(second)),
    low: at(tail),
    high: at(1 - tail),
  };
}

function resampled(values: readonly number[], random: SeededRandom): Float64Array {
  return Float64Array.from({ length: values.length }, () => values[random.below(values.length)]!);
}

function medianOf(values: Float64Array): number {
  const sorted = values.toSorted();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
