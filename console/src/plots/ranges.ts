/** From `from`, up to but not including `to`. */
export interface Range {
  from: number;
  to: number;
}

const maxRanges = 24;

/** Ranges of equal width at round numbers that hold all from `min` to `max`. */
export function numberRanges(min: number, max: number, { isInteger }: { isInteger: boolean }): Range[] {
  const exact = (max - min) / (maxRanges - 2);
  if (!Number.isFinite(exact)) return [];
  const power = exact === 0 ? 1 : 10 ** Math.floor(Math.log10(exact));
  const round = [1, 2, 5, 10].map((digit) => digit * power).find((width) => width >= exact) ?? power;
  return rangesOf(min, max, isInteger ? Math.max(1, round) : round);
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const timeWidths = [
  ...[1, 5, 15, 60, 180, 360, 720].map((minutes) => minutes * minuteMs),
  ...[1, 2, 7, 30, 91, 365, 3650, 36_500].map((days) => days * dayMs),
];

/** The same for moments in milliseconds, at round times of the clock of whoever looks. */
export function timeRanges(min: number, max: number): Range[] {
  const exact = (max - min) / (maxRanges - 2);
  const width = timeWidths.find((each) => each >= exact);
  if (width === undefined) return [];
  const offsetMs = new Date(min).getTimezoneOffset() * minuteMs;
  return rangesOf(min - offsetMs, max - offsetMs, width).map(({ from, to }) => ({
    from: from + offsetMs,
    to: to + offsetMs,
  }));
}

function rangesOf(min: number, max: number, width: number): Range[] {
  const first = Math.floor(min / width);
  const count = Math.floor(max / width) - first + 1;
  return Array.from({ length: count }, (_, at) => ({ from: (first + at) * width, to: (first + at + 1) * width }));
}
