import { describe, expect, test } from '@jest/globals';
import { Type, type TSchema } from 'typebox';
import type { JsonValue } from '#pkg/apimachinery/index';
import { plainSchema } from './plain-schema.ts';
import { SchemaChecker, type SchemaCheck } from './schema-checker.ts';

function checkOf(schema: TSchema): SchemaCheck {
  return new SchemaChecker().compile(plainSchema(schema, 'body'), 'body');
}

const times = <T>(count: number, item: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));

/** A recursive choice: each of two alternatives can contain either of two. */
const expression = Type.Cyclic(
  {
    E: Type.Union([
      Type.Object({ of: Type.Optional(Type.Ref('E')), kind: Type.Literal('and') }),
      Type.Object({ of: Type.Optional(Type.Ref('E')), kind: Type.Literal('or') }),
    ]),
  },
  'E',
);
const nested = (kind: string, depth: number): JsonValue =>
  times(depth, () => 0).reduce<JsonValue>((of) => ({ kind: 'or', of }), { kind });

describe('a small request that takes long to check', () => {
  test.each<[string, TSchema, JsonValue, RegExp]>([
    ['a recursive choice', expression, nested('x', 95), /^is too much to be checked/],
    ['a recursive choice with a valid value', expression, nested('and', 95), /^is too much to be checked/],
    [
      'a long text and a slow pattern',
      Type.String({ pattern: '(a|b|ab)*c' }),
      'ab'.repeat(1_000_000),
      /^is too much to be checked/,
    ],
    [
      'items that are compared repeatedly',
      Type.Array(Type.Intersect(times(5, () => Type.Array(Type.String(), { uniqueItems: true })))),
      [times(100_000, (i) => `${i}`.repeat(10))],
      /^is too much to be checked/,
    ],
  ])('%s', (_case, schema, value, detail) => {
    expect(checkOf(schema)(value)).toEqual([
      {
        reason: 'FieldValueInvalid',
        field: 'body',
        message: expect.stringMatching(new RegExp(detail.source.replace('^', ': '))),
      },
    ]);
  });
});

test('a recursive choice is checked to a usual depth', () => {
  const check = checkOf(expression);
  expect(check(nested('and', 10))).toEqual([]);
  expect(check(nested('x', 10))).toMatchObject([
    { field: 'body', message: expect.stringContaining('is none of what the schema allows') },
  ]);
});

test('the largest body is accepted', () => {
  const schema = Type.Array(
    Type.Object(
      { a: Type.Integer(), b: Type.Optional(Type.Union([Type.Null(), Type.String(), Type.Boolean()])) },
      { additionalProperties: false },
    ),
  );
  expect(checkOf(schema)(times(150_000, (i) => ({ a: i, b: true })))).toEqual([]);
});

test('of a large body with many mistakes only some are kept', () => {
  const check = checkOf(Type.Array(Type.String()));
  expect(check(times(1_500_000, () => 0))).toMatchObject([{ field: 'body[0]' }]);
  expect(check(times(1000, () => 0))).toHaveLength(100);
});

test('a cause names fields unchanged', () => {
  const names = ['a/b', 'm~n', '~1', 'plain'];
  const check = checkOf(Type.Object(Object.fromEntries(names.map((name) => [name, Type.Integer()]))));
  expect(check(Object.fromEntries(names.map((name) => [name, 'x']))).map(({ field }) => field)).toEqual([
    'body[a/b]',
    'body[m~n]',
    'body[~1]',
    'body.plain',
  ]);
});
