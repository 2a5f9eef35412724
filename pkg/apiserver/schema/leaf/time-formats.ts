/** `2024-02-29`, a day that exists. Source: RFC 3339 full-date. */
export function isCalendarDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** `2024-02-29T23:59:59.5Z`, with an offset or Z; no leap second, as in Go. Source: RFC 3339 date-time. */
export function isDateTime(text: string): boolean {
  const match = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](\d{2}):(\d{2}))$/.exec(text);
  if (match === null) return false;
  const [, date = '', hour, minute, second, offsetHour = '0', offsetMinute = '0'] = match;
  const inRange =
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    Number(offsetHour) < 24 &&
    Number(offsetMinute) < 60;
  return inRange && isCalendarDate(date);
}

/** Go's `1h30m`, `-1.5s`, `0`, and forms like `3 days`. Source: kube-openapi strfmt.ParseDuration. */
export function isDuration(text: string): boolean {
  if (text.length > 128) return false;
  if (
    /^\d{1,18} ?(?:nanoseconds?|microseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|d|weeks?|wks?|w)$/i.test(
      text,
    )
  )
    return true;
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  return unsigned === '0' || /^(?:(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:ns|us|µs|μs|ms|s|m|h))+$/.test(unsigned);
}

function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
