import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatInnerList, parseDictionary } from './structured-field.ts';

function rewrite(text: string): string | undefined {
  const members = parseDictionary(text);
  if (members === undefined) return undefined;
  const written = Array.from(members, ([key, member]) => {
    if (member.kind === 'inner-list') return `${key}=${formatInnerList(member)}`;
    return `${key}=${formatInnerList({ kind: 'inner-list', items: [member], parameters: new Map() }).slice(1, -1)}`;
  });
  return written.join(', ');
}

describe('a dictionary', () => {
  test.each([
    ['', '', 'an empty one'],
    ['  a=1  ', 'a=1', 'spaces around'],
    ['a=1,b=2 \t,\t c=3', 'a=1, b=2, c=3', 'spaces and tabs around commas'],
    ['a, b;x', 'a=?1, b=?1;x', 'true need not be said'],
    ['a=?1;x=?1;y=?0', 'a=?1;x;y=?0', 'true of a parameter is not said'],
    ['a=("x"   "y";p=1 );  created=5', 'a=("x" "y";p=1);created=5', 'spaces within a list'],
    ['a=(  )', 'a=()', 'an empty list'],
    ['a=00012;b=-0', 'a=12;b=0', 'integers in their one form'],
    ['a=1.50;b=2.0;c=-0.125', 'a=1.5;b=2.0;c=-0.125', 'decimals too'],
    ['a="q\\"b\\\\"', 'a="q\\"b\\\\"', 'escapes'],
    ['a=:cHJl:', 'a=:cHJl:', 'bytes'],
    ['a=::', 'a=::', 'no bytes'],
    ['a=tok/en:*', 'a=tok/en:*', 'a token'],
    ['*a-b_c.d=1', '*a-b_c.d=1', 'letters of keys'],
  ])('%j is %j: %s', (text, expected) => {
    expect(rewrite(text)).toBe(expected);
  });

  test.each([
    ['a=1,', 'a comma at the end'],
    ['a=1,,b=2', 'two commas'],
    [',a=1', 'a comma at the start'],
    ['a=1 b=2', 'no comma'],
    ['a=1, a=2', 'a key twice'],
    ['a=1;x;x', 'a parameter twice'],
    ['A=1', 'an upper-case key'],
    ['a=', 'no value'],
    ['=1', 'no key'],
    ['a=("x"', 'a list that does not end'],
    ['a=("x""y")', 'no space in a list'],
    ['a=("x",\t"y")', 'a comma in a list'],
    ['a=(("x"))', 'a list in a list'],
    ['a="x', 'a string that does not end'],
    ['a="\\n"', 'an unknown escape'],
    ['a="ü"', 'a string beyond ASCII'],
    ['a="\u0000"', 'a control character'],
    ['a=:cHJl', 'bytes that do not end'],
    ['a=:cHI:', 'bytes without padding'],
    ['a=:cHJ=:', 'bytes that are not canonical'],
    ['a=:c HJl:', 'a space in bytes'],
    ['a=1234567890123456', 'sixteen digits'],
    ['a=1.1234', 'four digits behind the point'],
    ['a=1.', 'none behind the point'],
    ['a=1234567890123.1', 'thirteen digits before the point'],
    ['a=-', 'a sign only'],
    ['a=?2', 'neither true nor false'],
    ['a=@1659578233', 'a date, which is younger than signatures'],
    ['a ;x', 'a space before a semicolon'],
  ])('%j is not a dictionary: %s', (text) => {
    expect(parseDictionary(text)).toBeUndefined();
  });

  test('strings are read without their escapes', () => {
    expect(parseDictionary(String.raw`a="q\"b\\\\\""`)?.get('a')).toMatchObject({
      item: { kind: 'string', value: String.raw`q"b\\"` },
    });
  });

  test('in canonical form is read unchanged, and no text causes an error', () => {
    const letters = fc.constantFrom(
      'a',
      'b',
      '=',
      ';',
      ',',
      ' ',
      '(',
      ')',
      '"',
      '\\',
      ':',
      'cHJl',
      '?1',
      '1',
      '.',
      '-',
      '\t',
      'ü',
    );
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 12 }), (parts) => {
        const once = rewrite(parts.join(''));
        expect(once === undefined ? undefined : rewrite(once)).toBe(once);
      }),
      { numRuns: 2000 },
    );
  });
});
