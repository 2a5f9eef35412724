import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseHttpDate } from './http-date.ts';

const now = Date.UTC(2026, 10, 20);
const of = (text: string): string | undefined => {
  const time = parseHttpDate(text, now);
  return time === undefined ? undefined : new Date(time).toISOString();
};

describe('an HTTP date', () => {
  test.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37.000Z', 'IMF-fixdate'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z', 'RFC 850'],
    ['Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37.000Z', 'asctime'],
    ['Sun Nov 16 08:49:37 1994', '1994-11-16T08:49:37.000Z', 'asctime, two digits of the day'],
    ['Tue, 4 Mar 2025 16:09:10 +0800', '2025-03-04T08:09:10.000Z', 'one digit of the day, numeric offset'],
    ['Tue, 4 Mar 2025 16:09:10 -0330', '2025-03-04T19:39:10.000Z', 'west of Greenwich'],
    ['Tue, 4 Mar 2025 16:09:10 GMT', '2025-03-04T16:09:10.000Z', 'one digit of the day'],
    ['Tue, 04 Mar 2025 16:09:10 UTC', '2025-03-04T16:09:10.000Z', 'as Go writes UTC'],
    ['Thu, 29 Feb 2024 23:59:60 GMT', '2024-03-01T00:00:00.000Z', 'a leap day with a leap second'],
    [
      'Thu, 05 Jan 2014 21:31:40 GMT',
      '2014-01-05T21:31:40.000Z',
      'a wrong weekday, as early drafts of signatures have it',
    ],
    ['Tuesday, 04-Mar-76 16:09:10 GMT', '2076-03-04T16:09:10.000Z', '50 years ahead'],
    ['Tuesday, 04-Mar-77 16:09:10 GMT', '1977-03-04T16:09:10.000Z', 'more than 50 years ahead is the past'],
    ['Sat, 01 Jan 0050 00:00:00 GMT', '0050-01-01T00:00:00.000Z', 'an early year is not taken for 1950'],
  ])('%s is %s: %s', (text, expected) => {
    expect(of(text)).toBe(expected);
  });

  test.each([
    ['', 'nothing'],
    ['2025-03-04T16:09:10Z', 'ISO 8601'],
    ['Tue, 04 Mar 2025 16:09:10', 'no zone'],
    ['Tue, 04 Mar 2025 16:09:10 CST', 'a zone that two continents use'],
    ['Tue, 04 Mar 2025 16:09:10 +8', 'a short offset'],
    ['Tue, 04 Mar 2025 16:09:10 +0860', 'an offset with 60 minutes'],
    ['Tue, 04 Mar 2025 24:00:00 GMT', 'hour 24'],
    ['Tue, 04 Mar 2025 16:60:10 GMT', 'minute 60'],
    ['Sat, 29 Feb 2025 16:09:10 GMT', 'no leap year'],
    ['Sat, 31 Apr 2025 16:09:10 GMT', 'the 31st of April'],
    ['Sat, 0 Mar 2025 16:09:10 GMT', 'day 0'],
    ['Tue, 04 mar 2025 16:09:10 GMT', 'letter case counts'],
    ['Die, 04 Mär 2025 16:09:10 GMT', 'German'],
    ['Tue,  04 Mar 2025 16:09:10 GMT', 'two spaces'],
    ['Tue, 04 Mar 25 16:09:10 GMT', 'two digits of the year'],
    ['Tue, 04 Mar 2025 16:09:10 GMT ', 'a space behind'],
    ['Tue, 04 Mar 2025 16:09:10 GMT, Tue, 04 Mar 2025 16:09:10 GMT', 'the header twice'],
    ['Tue, ٠٤ Mar 2025 16:09:10 GMT', 'digits of another script'],
    ['1741104550', 'a number'],
  ])('%j is not a date: %s', (text) => {
    expect(of(text)).toBeUndefined();
  });

  test('is accepted in every form that JavaScript writes', () => {
    const seconds = fc
      .integer({ min: Date.UTC(1, 0), max: Date.UTC(9999, 11, 31) })
      .map((time) => time - (time % 1000));
    fc.assert(
      fc.property(seconds, (time) => parseHttpDate(new Date(time).toUTCString()) === time),
      { numRuns: 500 },
    );
  });

  test('is not found in arbitrary text, and never causes an error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => parseHttpDate(text) === undefined),
      { numRuns: 500 },
    );
  });
});
