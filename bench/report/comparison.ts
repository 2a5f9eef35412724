import { quantile, type Sample } from './sample.ts';

/** A measured server; the first of a comparison is the baseline. */
export interface Contender {
  name: string;
  run(): Promise<Sample>;
}

export interface ComparedContender {
  name: string;
  /** The median of the windows, for each figure. */
  sample: Sample;
  /**
   * Requests/s of the first contender divided by those of this one, for windows of the same turn; absent for the first.
   */
  ratio?: Spread;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Runs the contenders alternately, so that disturbances affect all, and compares only windows of the same turn. */
export async function compare(contenders: readonly Contender[], rounds: number): Promise<ComparedContender[]> {
  const samples: Sample[][] = contenders.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = contenders.map((_, i) => (round % 2 === 0 ? i : contenders.length - 1 - i));
    for (const i of order) samples[i]!.push(await contenders[i]!.run());
  }
  return contenders.map(({ name }, i) => {
    const sample = medianSample(samples[i]!);
    if (i === 0) return { name, sample };
    return {
      name,
      sample,
      ratio: spreadOf(samples[i]!.map((other, round) => rateOf(samples[0]![round]!) / rateOf(other))),
    };
  });
}

export function rateOf({ requests, seconds }: Sample): number {
  return requests / seconds;
}

function spreadOf(values: number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Errors are summed, because a single one matters. */
function medianSample(samples: Sample[]): Sample {
  const of = (read: (sample: Sample) => number): number => median(samples.map(read));
  const failure = samples.find((sample) => sample.failure !== undefined)?.failure;
  return {
    requests: of(rateOf),
    seconds: 1,
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    errors: samples.reduce((sum, { errors }) => sum + errors, 0),
    ...(failure === undefined ? {} : { failure }),
    cpu: {
      server: of(({ cpu }) => cpu.server),
      postgres: of(({ cpu }) => cpu.postgres),
      loader: of(({ cpu }) => cpu.loader),
    },
  };
}

function median(values: number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
