const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const time = String.raw`(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d):(?<second>[0-5]\d|60)`;
const forms = [
  // IMF-fixdate; clients also write a day of one digit, a zone offset, and UTC.
  new RegExp(
    String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{1,2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${time} (?:GMT|UTC|(?<sign>[+-])(?<offsetHours>[01]\d|2[0-3])(?<offsetMinutes>[0-5]\d))$`,
  ),
  // RFC 850
  new RegExp(
    String.raw`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{1,2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) ${time} GMT$`,
  ),
  // asctime
  new RegExp(
    String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) {1,2}(?<day>\d{1,2}) ${time} (?<year>\d{4})$`,
  ),
];

/**
 * Milliseconds since 1970 of a date in one of HTTP's three forms, or with a numeric offset; undefined for any other
 * text, and for a day that does not exist. The weekday is not checked. A year of two digits is at most 50 years ahead
 * of `now`. Source: RFC 9110, 5.6.7.
 */
export function parseHttpDate(text: string, now = Date.now()): number | undefined {
  for (const form of forms) {
    const groups = form.exec(text)?.groups;
    if (groups !== undefined) return timeOf(groups, now);
  }
  return undefined;
}

function timeOf(groups: Readonly<Record<string, string | undefined>>, now: number): number | undefined {
  const number = (name: string): number => Number(groups[name] ?? 0);
  const year = groups['year']!.length === 2 ? fullYear(number('year'), new Date(now).getUTCFullYear()) : number('year');
  const month = months.indexOf(groups['month']!);
  const midnight = new Date(0);
  midnight.setUTCFullYear(year, month, number('day'));
  if (month === -1 || midnight.getUTCMonth() !== month || midnight.getUTCDate() !== number('day')) return undefined;
  const offsetMinutes = (number('offsetHours') * 60 + number('offsetMinutes')) * (groups['sign'] === '-' ? -1 : 1);
  return midnight.getTime() + ((number('hour') * 60 + number('minute') - offsetMinutes) * 60 + number('second')) * 1000;
}

function fullYear(twoDigits: number, thisYear: number): number {
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
