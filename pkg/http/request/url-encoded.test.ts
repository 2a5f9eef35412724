import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseQuery, parseUrlEncoded } from './url-encoded.ts';

const message = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    expect(error).toMatchObject({ code: 400, reason: 'BadRequest' });
    return (error as Error).message;
  }
  return '';
};

test.each([
  ['watch=%', 'watch'],
  ['watch=%2', 'watch'],
  ['a=1&watch=%zz&b=2', 'watch'],
  ['a=%C3', 'a'],
  ['a=%C3&%A9=1', 'a'],
  ['a=%C3+%A9', 'a'],
  ['a=%ff', 'a'],
  ['a=%C0%80', 'a'],
  ['a=%ED%A0%80', 'a'],
  ['a=%F4%90%80%80', 'a'],
  ['a%=1', 'a%'],
  ['%', '%'],
  ['&&%41%&', '%41%'],
])('%s is refused with the name of the parameter', (text, name) => {
  expect(message(() => parseQuery(text))).toBe(`query parameter "${name}": has malformed percent-encoding`);
  expect(message(() => parseUrlEncoded(text, 'form'))).toBe(`form field "${name}": has malformed percent-encoding`);
});

test('a query is ASCII, a form may contain any character', () => {
  for (const text of ['a=é', 'a=\u00a0', 'a=b c', 'a=\x7f']) {
    expect(message(() => parseQuery(text))).toBe('the query has a character that must be percent-encoded');
    expect(Array.from(parseUrlEncoded(text, 'form'))).toEqual([['a', text.slice(2)]]);
  }
});

test('there are at most 1000 parameters', () => {
  expect(parseQuery('a=1&'.repeat(999)).getAll('a')).toHaveLength(999);
  expect(message(() => parseQuery(`${'a&'.repeat(1000)}a`))).toBe('a query has at most 1000 parameters');
  expect(message(() => parseUrlEncoded('&'.repeat(1000), 'form'))).toBe('a form has at most 1000 fields');
});

test('escaped text is decoded, and a plus sign is a space', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' })), { maxLength: 20 }),
      (pairs) => {
        const text = new URLSearchParams(pairs).toString();
        expect(Array.from(parseQuery(text))).toEqual(Array.from(new URLSearchParams(pairs)));
      },
    ),
  );
  expect(parseQuery('a=b+c%2B').get('a')).toBe('b c+');
});

test('accepted text is decoded as by URLSearchParams, and no escape remains', () => {
  const piece = fc.constantFrom(
    '%',
    '%2',
    '%25',
    '%C3',
    '%A9',
    '%E2%82%AC',
    '%zz',
    '&',
    '=',
    'a',
    '+',
    '%00',
    '%26',
    '%3D',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('');
      let read: URLSearchParams;
      try {
        read = parseQuery(text);
      } catch {
        return;
      }
      expect(Array.from(read)).toEqual(Array.from(new URLSearchParams(text)));
      expect(read.toString()).not.toContain('%EF%BF%BD');
    }),
  );
});
