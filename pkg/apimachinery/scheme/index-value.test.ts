import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { numberText } from '../serializer/value-rules.ts';
import { parseDate, parseIndexValue } from './index-value.ts';

describe('dates', () => {
  const rows: [text: string, expected: string | undefined][] = [
    ['2024-02-29T12:30:45Z', '2024-02-29T12:30:45.000Z'],
    ['2024-02-29t12:30:45z', '2024-02-29T12:30:45.000Z'],
    ['2024-02-29 12:30:45Z', undefined],
    ['2024-02-29T12:30:45.5Z', '2024-02-29T12:30:45.500Z'],
    ['2024-02-29T12:30:45.123987654Z', '2024-02-29T12:30:45.123Z'],
    ['2024-02-29T12:30:45+05:30', '2024-02-29T07:00:45.000Z'],
    ['2024-02-29T12:30:45-00:00', '2024-02-29T12:30:45.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0000-12-31T23:59:59Z', undefined],
    ['0001-01-01T00:00:00+00:01', undefined],
    ['0099-12-31T00:00:00Z', '0099-12-31T00:00:00.000Z'],
    ['0000-01-01T00:00:00+00:01', undefined],
    ['9999-12-31T23:59:59-00:01', undefined],
    ['2023-02-29T00:00:00Z', undefined],
    ['2024-13-01T00:00:00Z', undefined],
    ['2024-00-01T00:00:00Z', undefined],
    ['2024-01-00T00:00:00Z', undefined],
    ['2024-01-01T24:00:00Z', undefined],
    ['2024-01-01T00:60:00Z', undefined],
    ['2016-12-31T23:59:60Z', undefined],
    ['2024-01-01T00:00:00', undefined],
    ['2024-01-01T00:00Z', undefined],
    ['2024-01-01Z', undefined],
    ['2024-01-01T00:00:00+24:00', undefined],
    ['2024-1-1', undefined],
    ['Mon, 01 Jan 2024 00:00:00 GMT', undefined],
    ['1704067200000', undefined],
    ['', undefined],
  ];
  test.each(rows)('%s', (text, expected) => {
    expect(parseDate(text)).toBe(expected === undefined ? undefined : Date.parse(expected));
  });

  test('a text is a date exactly if Date parses it, to the same time', () => {
    fc.assert(
      fc.property(
        fc.date({
          min: new Date('0001-01-01T00:00:00Z'),
          max: new Date('9999-12-31T23:59:59.999Z'),
          noInvalidDate: true,
        }),
        (date) => {
          expect(parseDate(date.toISOString())).toBe(date.getTime());
          expect(parseIndexValue('date', date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });
});

test('numbers are the same after they are formatted and parsed', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), (number, integer) => {
      expect(parseIndexValue('number', numberText(number))).toBe(number + 0);
      expect(parseIndexValue('integer', numberText(integer))).toBe(integer);
    }),
  );
});
