import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '#pkg/apimachinery/index';
import { isAccessError } from '../http/access-error.ts';
import { Type, type TSchema } from 'typebox';
import { CheckedFields } from './checked-fields.ts';
import { exactText, flag, freeText, line, optionalTime, texts, uuid } from './field-schemas.ts';

/** Names of the invalid fields. */
function wrongIn(fields: CheckedFields<object>): string[] {
  try {
    fields.done();
  } catch (error) {
    if (isAccessError(error) && error.status === 400) return Object.keys(error.body as object);
    throw error;
  }
  return [];
}

const ofValue = (schema: TSchema, value: JsonValue): CheckedFields<{ a: unknown }> =>
  CheckedFields.ofBody(Type.Object({ a: schema }), { a: value });

describe('a field of a body', () => {
  const cases: { reason: string; schema: TSchema; value: JsonValue; expected: unknown }[] = [
    { reason: 'a text without the spaces around it', schema: line(), value: ' a b ', expected: 'a b' },
    { reason: 'a blank text', schema: line(), value: ' ', expected: 'wrong' },
    { reason: 'null for a text', schema: line(), value: null, expected: 'wrong' },
    { reason: 'a number for a text', schema: line(), value: 1, expected: 'wrong' },
    { reason: 'two lines', schema: line(), value: 'a\nb', expected: 'wrong' },
    {
      reason: 'two lines of a free text',
      schema: freeText({ maxLength: 128 }),
      value: 'a\r\n\tb',
      expected: 'a\r\n\tb',
    },
    {
      reason: 'a control character in a free text',
      schema: freeText({ maxLength: 128 }),
      value: 'a\u0007',
      expected: 'wrong',
    },
    { reason: 'an empty free text', schema: freeText({ maxLength: 128 }), value: '', expected: '' },
    { reason: 'an exact text', schema: exactText({ maxLength: 128 }), value: ' \t', expected: ' \t' },
    { reason: 'too long a text', schema: line({ maxLength: 2 }), value: 'abc', expected: 'wrong' },
    {
      reason: 'a text that a rule refuses',
      schema: line({ fault: () => 'No.' }),
      value: 'x',
      expected: 'wrong',
    },
    { reason: 'true', schema: flag(), value: true, expected: true },
    { reason: 'a word for true', schema: flag(), value: 'TRUE', expected: true },
    { reason: 'a number for false', schema: flag(), value: '0', expected: false },
    { reason: 'null for a boolean', schema: flag(), value: null, expected: 'wrong' },
    { reason: 'a text that is not a boolean', schema: flag(), value: 'yes', expected: 'wrong' },
    {
      reason: 'a time',
      schema: optionalTime(),
      value: '2030-01-31T10:30:00.5+01:00',
      expected: new Date('2030-01-31T09:30:00.500Z'),
    },
    { reason: 'a text that is not a time', schema: optionalTime(), value: null, expected: null },
    { reason: 'an empty time in a form', schema: optionalTime(), value: '', expected: null },
    { reason: 'a time without an offset', schema: optionalTime(), value: '2030-01-31T10:30:00', expected: 'wrong' },
    {
      reason: 'a time before the year 1',
      schema: optionalTime(),
      value: '0001-01-01T00:00:00+01:00',
      expected: 'wrong',
    },
    {
      reason: 'an id in capitals',
      schema: uuid(),
      value: 'DEADBEEF-0000-4000-8000-000000000000',
      expected: 'deadbeef-0000-4000-8000-000000000000',
    },
    { reason: 'half an id', schema: uuid(), value: 'deadbeef', expected: 'wrong' },
    {
      reason: 'texts, each once',
      schema: texts({ maxItems: 3 }),
      value: ['x ', 'x', 'y'],
      expected: ['x', 'y'],
    },
    {
      reason: 'too many texts',
      schema: texts({ maxItems: 1 }),
      value: ['x', 'y'],
      expected: 'wrong',
    },
    {
      reason: 'a blank among texts',
      schema: texts({ maxItems: 3 }),
      value: ['x', ' '],
      expected: 'wrong',
    },
    {
      reason: 'another type among texts',
      schema: texts({ maxItems: 3 }),
      value: ['x', 1],
      expected: 'wrong',
    },
    {
      reason: 'one text for a list',
      schema: texts({ maxItems: 3 }),
      value: 'x',
      expected: 'wrong',
    },
  ];
  test.each(cases)('$reason', ({ schema, value, expected }) => {
    const fields = ofValue(schema, value);
    expect(fields.values.a).toEqual(expected === 'wrong' ? undefined : expected);
    expect(wrongIn(fields)).toEqual(expected === 'wrong' ? ['a'] : []);
  });

  test('that is missing is refused only if it is required', () => {
    const schema = Type.Object({
      a: Type.Optional(line()),
      b: Type.Optional(flag()),
      c: Type.Optional(optionalTime()),
      d: Type.Optional(uuid()),
      e: Type.Optional(texts({ maxItems: 1 })),
      toString: line(),
    });
    const fields = CheckedFields.ofBody(schema, {});
    expect([fields.values, fields.has('a')]).toEqual([{}, false]);
    expect(wrongIn(fields)).toEqual(['toString']);
  });

  test('with any value is accepted or refused, without another effect', () => {
    const schemas = [line(), flag(), optionalTime(), uuid(), texts({ maxItems: 2 })].map((a) => Type.Object({ a }));
    fc.assert(
      fc.property(fc.jsonValue(), (value) =>
        schemas.every((schema) => {
          const fields = CheckedFields.ofBody(schema, { a: value as JsonValue });
          return (wrongIn(fields).length === 1) !== 'a' in fields.values;
        }),
      ),
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
    const fields = CheckedFields.ofQuery(Type.Object({ a: Type.Optional(line()) }), new URLSearchParams(query));
    expect(fields.values.a).toBe(expected);
    expect(wrongIn(fields)).toEqual(wrong);
  });
});
