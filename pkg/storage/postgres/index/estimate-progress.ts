/** How much of a phase was done at one moment. */
export interface ProgressSample {
  /** Milliseconds, by any clock that only increases. */
  atMs: number;
  done: number;
  total: number;
}

export interface ProgressEstimate {
  /** From 0 to 0.99: the end of a phase is known only when the next one begins. Absent without a total. */
  done?: number;
  /** Absent while nothing has been done for long enough to know the rate. Seconds. */
  secondsLeft?: number;
}

/** The rate is that of the samples of this time: a build that was throttled for a while is not slow for ever. */
const windowMs = 60_000;
/** Over a shorter time the rate says nothing. Milliseconds. */
const minTimeMs = 1_000;

/** Adds a sample to those of its phase, oldest first; keeps about one a second, and those of the last minute. */
export function withSample(samples: readonly ProgressSample[], sample: ProgressSample): ProgressSample[] {
  const previous = samples.at(-2);
  const isClose = previous !== undefined && samples.at(-1)!.atMs - previous.atMs < 1_000;
  return [...(isClose ? samples.slice(0, -1) : samples), sample].filter(({ atMs }) => sample.atMs - atMs <= windowMs);
}

/** Estimates from the samples of one phase, oldest first. The total may change while objects are written. */
export function estimateProgress(samples: readonly ProgressSample[]): ProgressEstimate {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined || !(last.total > 0)) return {};
  const done = Math.max(0, Math.min(last.done / last.total, 0.99));
  const elapsedMs = last.atMs - first.atMs;
  const advanced = last.done - first.done;
  if (elapsedMs < minTimeMs || advanced <= 0) return { done };
  const left = Math.max(0, last.total - last.done);
  return { done, secondsLeft: (left * elapsedMs) / advanced / 1_000 };
}
