import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { formatTimestamp, parseTimestamp } from './timestamp.ts';

describe('timestamps', () => {
  test.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z'],
    ['2026-01-31T09:30:00.000Z', '2026-01-31T09:30:00Z'],
    ['2026-01-31t09:30:59.999999999z', '2026-01-31T09:30:59Z'],
    ['2026-01-31T00:30:00+02:00', '2026-01-30T22:30:00Z'],
    ['2026-12-31T23:30:00-00:45', '2027-01-01T00:15:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ])('%s is %s', (text, expected) => {
    expect(formatTimestamp(parseTimestamp(text) ?? Number.NaN)).toBe(expected);
  });

  test.each([
    '',
    '2026-01-31',
    '2026-01-31 09:30:00Z',
    '2026-01-31T09:30:00',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T23:59:60Z',
    '2026-01-31T09:30:00+24:00',
    '2026-01-31T09:30:00+0200',
    '2026-01-31T09:30:00.Z',
    '+002026-01-31T09:30:00Z',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-00:01',
    '2026-01-31T09:30:00Z\n',
  ])('%j is not a timestamp', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  test('a formatted time is parsed as the same second', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.parse('0000-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
        (instant) => {
          expect(parseTimestamp(formatTimestamp(instant))).toBe(Math.floor(instant / 1000) * 1000);
          expect(parseTimestamp(new Date(instant).toISOString())).toBe(instant);
        },
      ),
    );
  });
});
