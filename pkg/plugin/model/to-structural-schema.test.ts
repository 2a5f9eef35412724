import { describe, expect, test } from '@jest/globals';
import { Type, type TSchema } from 'typebox';
import type { JsonSchema } from '#pkg/apimachinery/index';
import { toStructuralSchema } from './to-structural-schema.ts';

describe('convertSchema', () => {
  const said: [string, TSchema, JsonSchema][] = [
    ['an empty object', Type.Object({}), { type: 'object' }],
    [
      'optional and required',
      Type.Object({ a: Type.Optional(Type.Integer()), b: Type.Boolean() }),
      { type: 'object', required: ['b'], properties: { a: { type: 'integer' }, b: { type: 'boolean' } } },
    ],
    [
      'an object open to more',
      Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: true }),
      { type: 'object', properties: { a: { type: 'string' } }, 'x-kubernetes-preserve-unknown-fields': true },
    ],
    [
      'readonly is for TypeScript',
      Type.Object({ a: Type.Readonly(Type.String()) }),
      { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
    ],
    [
      'a map',
      Type.Record(Type.String(), Type.Integer({ minimum: 1 })),
      { type: 'object', additionalProperties: { type: 'integer', minimum: 1 } },
    ],
    [
      'a map with bounds',
      Type.Record(Type.String(), Type.Boolean(), { maxProperties: 2 }),
      { type: 'object', maxProperties: 2, additionalProperties: { type: 'boolean' } },
    ],
    [
      'a map as an open object',
      Type.Object({}, { additionalProperties: Type.String() }),
      { type: 'object', additionalProperties: { type: 'string' } },
    ],
    [
      'a map of known keys',
      Type.Record(Type.Union([Type.Literal('x'), Type.Literal('y')]), Type.String()),
      { type: 'object', required: ['x', 'y'], properties: { x: { type: 'string' }, y: { type: 'string' } } },
    ],
    [
      'merged objects',
      Type.Evaluate(Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })])),
      { type: 'object', required: ['a', 'b'], properties: { a: { type: 'string' }, b: { type: 'string' } } },
    ],
    [
      'a list',
      Type.Array(Type.String(), { minItems: 1, maxItems: 3 }),
      { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3 },
    ],
    [
      'a set',
      Type.Array(Type.String(), { uniqueItems: true }),
      { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    ],
    ['a literal', Type.Literal('a'), { type: 'string', enum: ['a'] }],
    ['literals', Type.Union([Type.Literal('a'), Type.Literal('b')]), { type: 'string', enum: ['a', 'b'] }],
    ['literals of integers', Type.Union([Type.Literal(1), Type.Literal(2)]), { type: 'integer', enum: [1, 2] }],
    ['literals of numbers', Type.Union([Type.Literal(1), Type.Literal(0.5)]), { type: 'number', enum: [1, 0.5] }],
    [
      'literals of both',
      Type.Union([Type.Literal(80), Type.Literal('http')]),
      { 'x-kubernetes-int-or-string': true, enum: [80, 'http'] },
    ],
    ['an enum', Type.Enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }],
    [
      'literals or null',
      Type.Union([Type.Literal('a'), Type.Null()]),
      { type: 'string', enum: ['a', null], nullable: true },
    ],
    [
      'an enum or null',
      Type.Union([Type.Enum(['a', 'b']), Type.Null()], { description: 'd' }),
      { type: 'string', enum: ['a', 'b', null], nullable: true, description: 'd' },
    ],
    [
      'a type or null',
      Type.Union([Type.Null(), Type.String({ maxLength: 5 })], { default: null }),
      { type: 'string', maxLength: 5, nullable: true, default: null },
    ],
    [
      'unions in unions',
      Type.Union([Type.Union([Type.Literal('a'), Type.Literal('b')]), Type.Union([Type.Literal('c'), Type.Null()])]),
      { type: 'string', enum: ['a', 'b', 'c', null], nullable: true },
    ],
    ['integer or string', Type.Union([Type.Integer(), Type.String()]), { 'x-kubernetes-int-or-string': true }],
    [
      'integer, string or null',
      Type.Union([Type.String(), Type.Integer(), Type.Null()]),
      { 'x-kubernetes-int-or-string': true, nullable: true },
    ],
    [
      'any value',
      Type.Unknown({ description: 'd' }),
      { 'x-kubernetes-preserve-unknown-fields': true, nullable: true, description: 'd' },
    ],
    [
      'bounds',
      Type.Number({ minimum: 1, maximum: 5, multipleOf: 0.5 }),
      { type: 'number', minimum: 1, maximum: 5, multipleOf: 0.5 },
    ],
    [
      'exclusive bounds',
      Type.Integer({ exclusiveMinimum: 1, exclusiveMaximum: 5n }),
      { type: 'integer', minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: true },
    ],
    [
      'the narrower of two bounds',
      Type.Integer({ minimum: 3, exclusiveMinimum: 1, maximum: 5, exclusiveMaximum: 5 }),
      { type: 'integer', minimum: 3, maximum: 5, exclusiveMaximum: true },
    ],
    ['a pattern as a RegExp', Type.String({ pattern: /^a+$/u }), { type: 'string', pattern: '^a+$' }],
    ['a template', Type.TemplateLiteral('a${string}'), { type: 'string', pattern: '^a.*$' }],
    [
      'words',
      Type.String({ title: 't', description: 'd', examples: ['e', 'f'], format: 'uuid' }),
      { type: 'string', title: 't', description: 'd', example: 'e', format: 'uuid' },
    ],
    [
      'the dialect itself',
      Type.Array(Type.Object({ id: Type.String() }), {
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
      }),
      {
        type: 'array',
        items: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
      },
    ],
    [
      'the dialect by Unsafe',
      Type.Unsafe<string>({ type: 'string', nullable: true, enum: ['a'] }),
      { type: 'string', nullable: true, enum: ['a', null] },
    ],
  ];
  test.each(said)('%s', (_case, schema, expected) => {
    expect(toStructuralSchema(schema, 'spec')).toEqual(expected);
  });

  const at = (schema: TSchema): TSchema => Type.Object({ 'a.b': Type.Array(schema) });
  const where = 'spec[a.b][*]';
  const unsaid: [string, TSchema, string][] = [
    ['a tuple', Type.Tuple([Type.String()]), 'is a tuple; a list has one schema for all its items'],
    ['an intersection', Type.Intersect([Type.Object({}), Type.Object({})]), 'has no type'],
    ['a union of types', Type.Union([Type.String(), Type.Boolean()]), 'is a union that a definition cannot say'],
    ['a union of objects', Type.Union([Type.Object({}), Type.Object({})]), 'is a union that a definition cannot say'],
    [
      'a union with rules',
      Type.Union([Type.String({ maxLength: 1 }), Type.Integer()]),
      'is a union that a definition cannot say',
    ],
    ['literals of several types', Type.Union([Type.Literal(true), Type.Literal('a')]), 'has literals of several types'],
    ['a literal that JSON lacks', Type.Literal(5n), 'has a literal of type bigint'],
    ['null alone', Type.Null(), 'is of type "null"'],
    ['nulls alone', Type.Union([Type.Null(), Type.Null()]), 'can be nothing but null'],
    ['an empty union', Type.Union([]), 'can be nothing but null'],
    ['a closed object', Type.Object({}, { additionalProperties: false }), 'forbids further properties'],
    [
      'properties and a map',
      Type.Object({ a: Type.String() }, { additionalProperties: Type.String() }),
      'has properties and further ones with a schema',
    ],
    [
      'a map of patterned keys',
      Type.Record(Type.String({ pattern: '^a' }), Type.String()),
      'is a map with rules for its keys',
    ],
    ['a map of integers', Type.Record(Type.Integer(), Type.String()), 'is a map with rules for its keys'],
    ['a set of objects', Type.Array(Type.Object({}), { uniqueItems: true }), 'has uniqueItems'],
    ['a set with null', Type.Array(Type.Union([Type.String(), Type.Null()]), { uniqueItems: true }), 'has uniqueItems'],
    ['contains', Type.Array(Type.String(), { contains: Type.String() }), 'has contains, which a definition cannot say'],
    ['a reference', Type.Ref('A'), 'has no type'],
    ['never', Type.Never(), 'has no type'],
    ['a bigint', Type.BigInt(), 'is of type "bigint"'],
    ['undefined', Type.Undefined(), 'is of type "undefined"'],
    ['a function', Type.Function([], Type.String()), 'is of type "function"'],
    ['a refinement', Type.Refine(Type.String(), () => true), 'has a refinement'],
    [
      'a codec',
      Type.Codec(Type.String())
        .Decode((text) => text.length)
        .Encode(String),
      'has a codec',
    ],
    ['look-ahead', Type.String({ pattern: '^(?=a)' }), 'has a pattern that is not RE2'],
    ['flags', Type.String({ pattern: /a/i }), 'has a pattern with flags (i)'],
    [
      'a default that is not JSON',
      Type.String({ default: new Date(0) }),
      'has a default, an example or a rule that is not JSON',
    ],
    ['a bound beyond numbers', Type.Integer({ maximum: 2n ** 63n - 1n }), 'has a bound that is no number JSON can say'],
    ['an identifier', Type.String({ $id: 'a' }), 'has $id, which a definition cannot say'],
    ['combinations', Type.Unsafe({ type: 'string', not: { enum: ['a'] } }), 'has not, which a definition cannot say'],
  ];
  test.each(unsaid)('refuses %s, and names the position', (_case, schema, problem) => {
    expect(() => toStructuralSchema(at(schema), 'spec')).toThrow(TypeError);
    expect(() => toStructuralSchema(at(schema), 'spec')).toThrow(`${where} ${problem}`);
  });

  test('refuses names of the prototype, and endless nesting', () => {
    expect(() => toStructuralSchema(Type.Object({ constructor: Type.String() }), 'spec')).toThrow(
      'spec.constructor has a name that objects of a model cannot have',
    );
    let deep: TSchema = Type.String();
    for (let level = 0; level < 200; level += 1) deep = Type.Array(deep);
    expect(() => toStructuralSchema(deep, 'spec')).toThrow('is nested deeper than 100 levels');
  });
});
