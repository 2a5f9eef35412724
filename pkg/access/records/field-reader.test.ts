import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '#pkg/apimachinery/index';
import { isAccessError } from '../http/access-error.ts';
import { FieldReader } from './field-reader.ts';

/** Names of the fields that are wrong. */
function wrongIn(reader: FieldReader): string[] {
  try {
    reader.done();
  } catch (error) {
    if (isAccessError(error) && error.status === 400) return Object.keys(error.body as object);
    throw error;
  }
  return [];
}

const ofValue = (value: JsonValue): FieldReader => FieldReader.ofBody({ a: value });

describe('a field of a body', () => {
  const cases: { reason: string; read: (reader: FieldReader) => unknown; value: JsonValue; expected: unknown }[] = [
    { reason: 'a text without the spaces around it', read: (r) => r.text('a'), value: ' a b ', expected: 'a b' },
    { reason: 'a blank text', read: (r) => r.text('a'), value: ' ', expected: 'wrong' },
    { reason: 'null for a text', read: (r) => r.text('a'), value: null, expected: 'wrong' },
    { reason: 'a number for a text', read: (r) => r.text('a'), value: 1, expected: 'wrong' },
    { reason: 'two lines', read: (r) => r.text('a'), value: 'a\nb', expected: 'wrong' },
    {
      reason: 'two lines of a free text',
      read: (r) => r.text('a', { isFree: true }),
      value: 'a\r\n\tb',
      expected: 'a\r\n\tb',
    },
    {
      reason: 'a bell in a free text',
      read: (r) => r.text('a', { isFree: true }),
      value: 'a\u0007',
      expected: 'wrong',
    },
    { reason: 'an empty free text', read: (r) => r.text('a', { isFree: true }), value: '', expected: '' },
    { reason: 'an exact text', read: (r) => r.text('a', { isExact: true }), value: ' \t', expected: ' \t' },
    { reason: 'too long a text', read: (r) => r.text('a', { longest: 2 }), value: 'abc', expected: 'wrong' },
    {
      reason: 'a text that a rule refuses',
      read: (r) => r.text('a', { check: () => 'No.' }),
      value: 'x',
      expected: 'wrong',
    },
    { reason: 'true', read: (r) => r.boolean('a'), value: true, expected: true },
    { reason: 'a word for true', read: (r) => r.boolean('a'), value: 'TRUE', expected: true },
    { reason: 'a number for false', read: (r) => r.boolean('a'), value: '0', expected: false },
    { reason: 'null for a boolean', read: (r) => r.boolean('a'), value: null, expected: 'wrong' },
    { reason: 'a word that is none', read: (r) => r.boolean('a'), value: 'yes', expected: 'wrong' },
    {
      reason: 'a time',
      read: (r) => r.time('a'),
      value: '2030-01-31T10:30:00.5+01:00',
      expected: new Date('2030-01-31T09:30:00.500Z'),
    },
    { reason: 'no time', read: (r) => r.time('a'), value: null, expected: null },
    { reason: 'no time in a form', read: (r) => r.time('a'), value: '', expected: null },
    { reason: 'a time without an offset', read: (r) => r.time('a'), value: '2030-01-31T10:30:00', expected: 'wrong' },
    {
      reason: 'a time before the year 1',
      read: (r) => r.time('a'),
      value: '0001-01-01T00:00:00+01:00',
      expected: 'wrong',
    },
    {
      reason: 'an id in capitals',
      read: (r) => r.uuid('a'),
      value: 'DEADBEEF-0000-4000-8000-000000000000',
      expected: 'deadbeef-0000-4000-8000-000000000000',
    },
    { reason: 'half an id', read: (r) => r.uuid('a'), value: 'deadbeef', expected: 'wrong' },
    {
      reason: 'texts, each once',
      read: (r) => r.texts('a', { most: 3, check: () => undefined }),
      value: ['x ', 'x', 'y'],
      expected: ['x', 'y'],
    },
    {
      reason: 'too many texts',
      read: (r) => r.texts('a', { most: 1, check: () => undefined }),
      value: ['x', 'y'],
      expected: 'wrong',
    },
    {
      reason: 'a blank among them',
      read: (r) => r.texts('a', { most: 3, check: () => undefined }),
      value: ['x', ' '],
      expected: 'wrong',
    },
    {
      reason: 'something else among them',
      read: (r) => r.texts('a', { most: 3, check: () => undefined }),
      value: ['x', 1],
      expected: 'wrong',
    },
    {
      reason: 'one text for a list',
      read: (r) => r.texts('a', { most: 3, check: () => undefined }),
      value: 'x',
      expected: 'wrong',
    },
  ];
  test.each(cases)('$reason', ({ read, value, expected }) => {
    const reader = ofValue(value);
    expect(read(reader)).toEqual(expected === 'wrong' ? undefined : expected);
    expect(wrongIn(reader)).toEqual(expected === 'wrong' ? ['a'] : []);
  });

  test('that is not there is wrong only where it is required', () => {
    const reader = FieldReader.ofBody({});
    expect([
      reader.text('a'),
      reader.boolean('b'),
      reader.time('c'),
      reader.uuid('d'),
      reader.texts('e', { most: 1, check: () => undefined }),
      reader.has('f'),
    ]).toEqual([undefined, undefined, undefined, undefined, undefined, false]);
    reader.text('toString', { isRequired: true });
    expect(wrongIn(reader)).toEqual(['toString']);
  });

  test('may be anything: it is taken or refused, never more', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const reader = ofValue(value as JsonValue);
        const read = [
          reader.text('a'),
          reader.boolean('a'),
          reader.time('a'),
          reader.uuid('a'),
          reader.texts('a', { most: 2, check: () => undefined }),
        ];
        return wrongIn(reader).length === 1 || read.every((one) => one === undefined);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a parameter of a query', () => {
  test.each([
    { query: 'a=', expected: undefined, wrong: [] },
    { query: 'a=x', expected: 'x', wrong: [] },
    { query: 'a=x&a=x', expected: undefined, wrong: ['a'] },
    { query: 'a=%00', expected: undefined, wrong: ['a'] },
    { query: '', expected: undefined, wrong: [] },
  ])('$query', ({ query, expected, wrong }) => {
    const reader = FieldReader.ofQuery(new URLSearchParams(query));
    expect(reader.text('a')).toBe(expected);
    expect(wrongIn(reader)).toEqual(wrong);
  });
});
