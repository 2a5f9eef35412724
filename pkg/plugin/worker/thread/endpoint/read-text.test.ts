import { expect, test } from '@jest/globals';
import { Type, type TSchema } from 'typebox';
import type { JsonValue } from '#pkg/apimachinery/index';
import { operationIdOf } from './describe-endpoint.ts';
import { plainSchema } from './plain-schema.ts';
import { valueOfText } from './read-text.ts';

test.each<[string, TSchema, JsonValue]>([
  ['5', Type.Integer(), 5],
  ['-0', Type.Integer(), 0],
  ['05', Type.Integer(), '05'],
  ['5.0', Type.Integer(), '5.0'],
  [' 5', Type.Integer(), ' 5'],
  ['', Type.Integer(), ''],
  ['9007199254740993', Type.Integer(), '9007199254740993'],
  ['1.5', Type.Number(), 1.5],
  ['1e3', Type.Number(), 1000],
  ['1e400', Type.Number(), '1e400'],
  ['9007199254740993', Type.Number(), '9007199254740993'],
  ['Infinity', Type.Number(), 'Infinity'],
  ['true', Type.Boolean(), true],
  ['True', Type.Boolean(), 'True'],
  ['5', Type.String(), '5'],
  ['null', Type.Union([Type.String(), Type.Null()]), null],
  ['80', Type.Union([Type.Literal(80), Type.Literal('http')]), 80],
  ['http', Type.Union([Type.Literal(80), Type.Literal('http')]), 'http'],
  ['b', Type.Enum(['a', 'b']), 'b'],
  ['5', Type.Union([Type.Integer(), Type.Boolean()]), 5],
])('%s by a schema', (text, schema, value) => {
  expect(Object.is(valueOfText(text, plainSchema(schema, 'a')), value)).toBe(true);
});

test.each([
  ['GET', '/posts', 'getPosts'],
  ['PUT', '/posts/{name}/publication', 'putPostsByNamePublication'],
  ['DELETE', '/a-b/c_d/{e}', 'deleteABCDByE'],
])('the operationId of %s %s', (method, path, id) => {
  expect(operationIdOf(method, path)).toBe(id);
});

test.each<[string, TSchema, string]>([
  [
    'a refinement',
    Type.Refine(Type.String(), () => true),
    'body.properties.a has a refinement: check that in the handler',
  ],
  ['a codec', Type.Codec(Type.String()).Decode(Number).Encode(String), 'body.properties.a has a codec'],
  [
    'a function',
    Type.Unsafe({ type: 'string', default: () => 1 }),
    'body.properties.a.default is a function, which JSON cannot say',
  ],
  ['an invalid number', Type.Integer({ maximum: 2n ** 64n - 1n }), 'is a number that JSON cannot say'],
])('a schema with %s is refused', (_case, schema, message) => {
  expect(() => plainSchema(Type.Object({ a: schema }), 'body')).toThrow(message);
});
