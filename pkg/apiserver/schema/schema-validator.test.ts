import { describe, expect, test } from '@jest/globals';
import { runSync, type JsonObject, type JsonSchema, type JsonValue, type StatusCause } from '#pkg/apimachinery/index';
import { compileSchemaValidator } from './schema-validator.ts';

/** A resource schema around one field, `spec.f`. */
function withField(field: JsonSchema, extra: JsonSchema = {}): JsonSchema {
  return { type: 'object', properties: { spec: { type: 'object', properties: { f: field }, ...extra } } };
}

function post(f: JsonValue): JsonObject {
  return { apiVersion: 'v1', kind: 'Post', metadata: { name: 'a' }, spec: { f } };
}

function causesOf(field: JsonSchema, f: JsonValue, old?: JsonValue): string[] {
  const causes = compileSchemaValidator(withField(field)).validate(post(f), old === undefined ? undefined : post(old));
  return causes.map((cause) => `${cause.reason} ${String(cause.field)}: ${cause.message}`);
}

describe('SchemaValidator.validate, the message of each rule', () => {
  const text: JsonSchema = { type: 'string' };
  const person: JsonSchema = { type: 'object', required: ['name'], properties: { name: text } };
  test.each<{ reason: string; field: JsonSchema; value: JsonValue; cause: string | undefined }>([
    {
      reason: 'another type',
      field: { type: 'integer' },
      value: 'x',
      cause: 'FieldValueTypeInvalid spec.f: Invalid value: "string": spec.f in body must be of type integer: "string"',
    },
    {
      reason: 'a fraction is not an integer',
      field: { type: 'integer' },
      value: 1.5,
      cause: 'FieldValueTypeInvalid spec.f: Invalid value: "number": spec.f in body must be of type integer: "number"',
    },
    { reason: 'an integer is a number', field: { type: 'number' }, value: 1, cause: undefined },
    {
      reason: 'a list is not an object',
      field: { type: 'object' },
      value: [],
      cause: 'FieldValueTypeInvalid spec.f: Invalid value: "array": spec.f in body must be of type object: "array"',
    },
    {
      reason: 'null is a separate type',
      field: text,
      value: null,
      cause: 'FieldValueTypeInvalid spec.f: Invalid value: "null": spec.f in body must be of type string: "null"',
    },
    {
      reason: 'null where it is allowed',
      field: { type: 'string', nullable: true, minLength: 1 },
      value: null,
      cause: undefined,
    },
    {
      reason: 'a null must be in the enum',
      field: { type: 'string', nullable: true, enum: ['a'] },
      value: null,
      cause: 'FieldValueNotSupported spec.f: Unsupported value: null: supported values: "a"',
    },
    { reason: 'required', field: person, value: {}, cause: 'FieldValueRequired spec.f.name: Required value' },
    {
      reason: 'inherited properties are absent',
      field: { type: 'object', required: ['constructor'] },
      value: {},
      cause: 'FieldValueRequired spec.f.constructor: Required value',
    },
    {
      reason: 'enum',
      field: { type: 'string', enum: ['a', 'b'] },
      value: 'x',
      cause: 'FieldValueNotSupported spec.f: Unsupported value: "x": supported values: "a", "b"',
    },
    {
      reason: 'enum of objects',
      field: { type: 'object', enum: [{ a: 1, b: 2 }], 'x-kubernetes-preserve-unknown-fields': true },
      value: { b: 2, a: 1 },
      cause: undefined,
    },
    {
      reason: 'maxLength',
      field: { type: 'string', maxLength: 20 },
      value: 'x'.repeat(21),
      cause: 'FieldValueTooLong spec.f: Too long: may not be more than 20 bytes',
    },
    { reason: 'lengths count code points', field: { type: 'string', maxLength: 2 }, value: '😀😀', cause: undefined },
    {
      reason: 'minLength',
      field: { type: 'string', minLength: 3 },
      value: 'ab',
      cause: 'FieldValueInvalid spec.f: Invalid value: "ab": spec.f in body should be at least 3 chars long',
    },
    {
      reason: 'pattern',
      field: { type: 'string', pattern: '^[a-z]+$' },
      value: 'X',
      cause: `FieldValueInvalid spec.f: Invalid value: "X": spec.f in body should match '^[a-z]+$'`,
    },
    {
      reason: 'maximum',
      field: { type: 'integer', maximum: 10 },
      value: 99,
      cause: 'FieldValueInvalid spec.f: Invalid value: 99: spec.f in body should be less than or equal to 10',
    },
    {
      reason: 'exclusive maximum',
      field: { type: 'integer', maximum: 10, exclusiveMaximum: true },
      value: 10,
      cause: 'FieldValueInvalid spec.f: Invalid value: 10: spec.f in body should be less than 10',
    },
    {
      reason: 'minimum',
      field: { type: 'integer', minimum: 1 },
      value: 0,
      cause: 'FieldValueInvalid spec.f: Invalid value: 0: spec.f in body should be greater than or equal to 1',
    },
    {
      reason: 'exclusive minimum',
      field: { type: 'number', minimum: 0, exclusiveMinimum: true },
      value: 0,
      cause: 'FieldValueInvalid spec.f: Invalid value: 0: spec.f in body should be greater than 0',
    },
    {
      reason: 'exclusive false',
      field: { type: 'number', minimum: 0, exclusiveMinimum: false },
      value: 0,
      cause: undefined,
    },
    {
      reason: 'multipleOf',
      field: { type: 'integer', multipleOf: 5 },
      value: 7,
      cause: 'FieldValueInvalid spec.f: Invalid value: 7: spec.f in body should be a multiple of 5',
    },
    { reason: 'multipleOf of fractions', field: { type: 'number', multipleOf: 0.1 }, value: 0.3, cause: undefined },
    {
      reason: 'multipleOf of fractions, large',
      field: { type: 'number', multipleOf: 0.01 },
      value: 123456789.01,
      cause: undefined,
    },
    {
      reason: 'maxItems',
      field: { type: 'array', maxItems: 2, items: text },
      value: ['a', 'b', 'c'],
      cause: 'FieldValueTooMany spec.f: Too many: 3: must have at most 2 items',
    },
    {
      reason: 'minItems',
      field: { type: 'array', minItems: 1, items: text },
      value: [],
      cause: 'FieldValueInvalid spec.f: Invalid value: 0: spec.f in body should have at least 1 items',
    },
    {
      reason: 'maxProperties',
      field: { type: 'object', maxProperties: 1, additionalProperties: text },
      value: { a: '', b: '' },
      cause: 'FieldValueInvalid spec.f: Invalid value: 2: spec.f in body should have at most 1 properties',
    },
    {
      reason: 'minProperties',
      field: { type: 'object', minProperties: 1, additionalProperties: text },
      value: {},
      cause: 'FieldValueInvalid spec.f: Invalid value: 0: spec.f in body should have at least 1 properties',
    },
    {
      reason: 'format',
      field: { type: 'string', format: 'date-time' },
      value: 'soon',
      cause: 'FieldValueTypeInvalid spec.f: Invalid value: "soon": spec.f in body must be of type date-time: "soon"',
    },
    {
      reason: 'number format',
      field: { type: 'integer', format: 'int32' },
      value: 2 ** 31,
      cause:
        'FieldValueTypeInvalid spec.f: Invalid value: 2147483648: spec.f in body must be of type int32: 2147483648',
    },
    { reason: 'unknown formats are ignored', field: { type: 'string', format: 'haiku' }, value: 'x', cause: undefined },
    {
      reason: 'int or string, neither',
      field: { 'x-kubernetes-int-or-string': true },
      value: true,
      cause:
        'FieldValueTypeInvalid spec.f: Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean"',
    },
    {
      reason: 'int or string, string',
      field: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      value: '50%',
      cause: undefined,
    },
    {
      reason: 'an item has its index',
      field: { type: 'array', items: person },
      value: [{ name: 'a' }, {}],
      cause: 'FieldValueRequired spec.f[1].name: Required value',
    },
    {
      reason: 'required in nested lists',
      field: { type: 'array', items: { type: 'array', items: person } },
      value: [[], [{ name: 'a' }, {}]],
      cause: 'FieldValueRequired spec.f[1][1].name: Required value',
    },
    {
      reason: 'required in a value of a map',
      field: { type: 'object', additionalProperties: { type: 'object', properties: { p: person } } },
      value: { a: { p: { name: 'a' } }, b: { p: {} } },
      cause: 'FieldValueRequired spec.f.b.p.name: Required value',
    },
    {
      reason: 'a map with any keys, also those of every resource',
      field: { type: 'object', additionalProperties: person },
      value: { spec: { name: 'a' }, metadata: {} },
      cause: 'FieldValueRequired spec.f.metadata.name: Required value',
    },
    {
      reason: 'a required field with an allowed null',
      field: { type: 'object', required: ['a'], properties: { a: { type: 'string', nullable: true } } },
      value: { a: null },
      cause: undefined,
    },
    {
      reason: 'a null does not satisfy required fields',
      field: person,
      value: null,
      cause: 'FieldValueTypeInvalid spec.f: Invalid value: "null": spec.f in body must be of type object: "null"',
    },
    {
      reason: 'a map has its key',
      field: { type: 'object', additionalProperties: { type: 'integer' } },
      value: { cpu: 'x' },
      cause:
        'FieldValueTypeInvalid spec.f.cpu: Invalid value: "string": spec.f.cpu in body must be of type integer: "string"',
    },
    {
      reason: 'anyOf',
      field: { type: 'string', anyOf: [{ minLength: 3 }, { enum: ['a'] }] },
      value: 'b',
      cause: 'FieldValueInvalid spec.f: Invalid value: "": "spec.f" must validate at least one schema (anyOf)',
    },
    {
      reason: 'oneOf, none',
      field: { type: 'string', oneOf: [{ minLength: 3 }, { enum: ['a'] }] },
      value: 'b',
      cause:
        'FieldValueInvalid spec.f: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid',
    },
    {
      reason: 'oneOf, several',
      field: { type: 'string', oneOf: [{ minLength: 1 }, { enum: ['a'] }] },
      value: 'a',
      cause:
        'FieldValueInvalid spec.f: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    },
    {
      reason: 'not',
      field: { type: 'string', not: { enum: ['a'] } },
      value: 'a',
      cause: 'FieldValueInvalid spec.f: Invalid value: "": "spec.f" must not validate the schema (not)',
    },
    {
      reason: 'allOf names the rule',
      field: { type: 'string', allOf: [{ minLength: 3 }] },
      value: 'b',
      cause: 'FieldValueInvalid spec.f: Invalid value: "b": spec.f in body should be at least 3 chars long',
    },
    {
      reason: 'combinations reach fields',
      field: {
        type: 'object',
        properties: { a: text },
        oneOf: [{ required: ['a'], properties: { a: { enum: ['x'] } } }],
      },
      value: { a: 'x' },
      cause: undefined,
    },
    {
      reason: 'a set',
      field: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
      value: ['a', 'b', 'a'],
      cause: 'FieldValueDuplicate spec.f[2]: Duplicate value: "a"',
    },
    {
      reason: 'a set tells 1 from "1"',
      field: { type: 'array', 'x-kubernetes-list-type': 'set', items: { 'x-kubernetes-int-or-string': true } },
      value: [1, '1'],
      cause: undefined,
    },
    {
      reason: 'a map list',
      field: { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: person },
      value: [{ name: 'a' }, { name: 'a' }],
      cause: 'FieldValueDuplicate spec.f[1]: Duplicate value: {"name":"a"}',
    },
    {
      reason: 'items of a map list differ only by their keys',
      field: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: { type: 'object', required: ['name'], properties: { name: text, value: text } },
      },
      value: [
        { name: 'a', value: '1' },
        { name: 'a', value: '2' },
      ],
      cause: 'FieldValueDuplicate spec.f[1]: Duplicate value: {"name":"a"}',
    },
    {
      reason: 'items of a map list differ by all their keys together',
      field: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a', 'b'],
        items: { type: 'object', properties: { a: text, b: text } },
      },
      value: [
        { a: 'x', b: 'yz' },
        { a: 'xy', b: 'z' },
        { a: 'x', b: 'z' },
      ],
      cause: undefined,
    },
    {
      reason: 'an embedded resource has a kind that is not empty',
      field: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      value: { apiVersion: 'v1', kind: '' },
      cause: 'FieldValueInvalid spec.f.kind: Invalid value: "": must not be empty',
    },
    {
      reason: 'an embedded resource has a kind',
      field: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      value: { apiVersion: 'v1' },
      cause: 'FieldValueRequired spec.f.kind: Required value',
    },
    {
      reason: 'embedded labels are strings',
      field: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      value: { apiVersion: 'v1', kind: 'A', metadata: { labels: { a: 1 } } },
      cause:
        'FieldValueTypeInvalid spec.f.metadata.labels.a: Invalid value: "integer": spec.f.metadata.labels.a in body must be of type string: "integer"',
    },
    {
      reason: 'any value where fields are preserved',
      field: { 'x-kubernetes-preserve-unknown-fields': true },
      value: [1, 'a', {}],
      cause: undefined,
    },
  ])('$reason', ({ field, value, cause }) => {
    expect(causesOf(field, value)).toEqual(cause === undefined ? [] : [cause]);
  });

  test('every missing field has a cause', () => {
    const pair: JsonSchema = { type: 'object', required: ['a', 'b'], properties: { a: text, b: text } };
    expect(causesOf({ type: 'array', items: pair }, [{}, { a: '' }])).toEqual(
      ['spec.f[0].a', 'spec.f[0].b', 'spec.f[1].b'].map((field) => `FieldValueRequired ${field}: Required value`),
    );
  });

  test('two patterns of one schema are checked separately', () => {
    const schema = withField({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^a$' }, b: { type: 'string', pattern: '^b$' } },
    });
    expect(compileSchemaValidator(schema).validate(post({ a: 'a', b: 'b' }))).toEqual([]);
  });

  test('a schema may restrict the name, and no other metadata', () => {
    const schema: JsonSchema = {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 2 } } } },
    };
    const object = { apiVersion: 'v1', kind: 'Post', metadata: { name: 'abc', labels: { a: 'b' } } };
    expect(compileSchemaValidator(schema).validate(object)).toEqual([
      expect.objectContaining({ field: 'metadata.name', reason: 'FieldValueTooLong' }),
    ]);
  });

  test('at most 100 causes, each with its value shortened', () => {
    const causes = compileSchemaValidator(
      withField({ type: 'array', items: { type: 'string', maxLength: 1, pattern: '^a$' } }),
    ).validate(post(Array.from({ length: 500 }, () => 'b'.repeat(10_000))));
    expect(causes).toHaveLength(100);
    expect(JSON.stringify(causes).length).toBeLessThan(100_000);
  });

  test('more work for combinations than the limit is refused, even for a valid object', () => {
    const parts = Array.from({ length: 500 }, (_, index): JsonSchema => ({ enum: [index] }));
    const refused = (field: JsonSchema, value: JsonValue): string[] =>
      compileSchemaValidator(withField(field))
        .validate(post(value))
        .map(({ message }) => message);
    const items = (count: number, value: JsonValue): JsonValue[] => Array.from({ length: count }, () => value);
    const tooMuch = [
      'Invalid value: "object": takes too much work to be checked against the combinations (allOf, anyOf, oneOf, not) of its schema',
    ];
    expect(refused({ type: 'array', items: { type: 'integer', anyOf: parts } }, items(1000, 499))).toEqual(tooMuch);
    expect(refused({ type: 'array', items: { type: 'integer', oneOf: parts } }, items(1000, 499))).toEqual(tooMuch);
    expect(
      refused(
        {
          type: 'array',
          items: {
            type: 'integer',
            not: { allOf: [...items(500, { minimum: 5 }), { maximum: 1 }] },
          } as unknown as JsonSchema,
        },
        items(1000, 5),
      ),
    ).toEqual(tooMuch);
    expect(
      refused(
        { type: 'array', items: { type: 'integer', allOf: items(500, { minimum: 1 }) } as unknown as JsonSchema },
        items(1000, 5),
      ),
    ).toEqual(tooMuch);
    const wide = Object.fromEntries(items(40_000, 1).map((one, index) => [`k${index}`, one]));
    expect(
      refused(
        {
          'x-kubernetes-preserve-unknown-fields': true,
          anyOf: items(10, { maxProperties: 3 }),
        } as unknown as JsonSchema,
        wide,
      ),
    ).toEqual(tooMuch);
    expect(
      refused({ type: 'string', anyOf: items(10, { maxLength: 3 }) } as unknown as JsonSchema, 'x'.repeat(2_000_000)),
    ).toEqual(tooMuch);
    expect(refused({ type: 'array', items: { type: 'integer', anyOf: parts } }, items(300, 499))).toEqual([]);
    expect(
      refused(
        {
          type: 'array',
          items: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        },
        items(90_000, '1'),
      ),
    ).toEqual([]);
  });

  test('an enum of objects matches in any order of keys', () => {
    const field: JsonSchema = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      enum: [{ a: 1, b: [2] }],
    };
    expect(causesOf(field, { b: [2], a: 1 })).toEqual([]);
    expect(causesOf(field, { a: 1 })).toHaveLength(1);
  });

  test('more text for patterns than the limit is refused, even if the pattern must not match', () => {
    const [cause] = compileSchemaValidator(
      withField({ type: 'string', not: { pattern: '^(a|b)*a(a|b){300}$' } }),
    ).validate(post('ab'.repeat(500_000)));
    expect(cause?.message).toContain('a text of 1000000 characters, too long to be matched');
    const many = { type: 'array', items: { type: 'string', not: { pattern: '^(a|b)*a(a|b){300}$' } } } as JsonSchema;
    const [refusal] = compileSchemaValidator(withField(many)).validate(
      post(Array.from({ length: 200 }, () => 'ab'.repeat(250))),
    );
    expect(refusal?.message).toContain('too much text');
  });

  test('an unchanged text is not matched again', () => {
    const schema = withField({
      type: 'object',
      properties: { a: { type: 'string', pattern: '^(a|b)*a(a|b){300}$' }, b: { type: 'string' } },
    });
    const long = 'ab'.repeat(500_000);
    expect(compileSchemaValidator(schema).validate(post({ a: long, b: 'x' }), post({ a: long }))).toEqual([]);
  });

  test('yields in slices: a large object, a long combination, much text', () => {
    const slicesOf = (field: JsonSchema, value: JsonValue): number => {
      let slices = 0;
      for (const work = compileSchemaValidator(withField(field)).validating(post(value)); work.next().done !== true;)
        slices += 1;
      return slices;
    };
    const items = (count: number, value: JsonValue): JsonValue[] => Array.from({ length: count }, () => value);
    expect(slicesOf({ type: 'array', items: { type: 'integer' } }, items(10_000, 1))).toBeGreaterThan(100);
    expect(
      slicesOf({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'integer' } }, items(10_000, 1)),
    ).toBeGreaterThan(100);
    expect(
      slicesOf({ type: 'string', anyOf: items(10_000, { minLength: 2 }) } as unknown as JsonSchema, 'x'),
    ).toBeGreaterThan(100);
    expect(
      slicesOf({ type: 'array', items: { type: 'string', pattern: '^[a-z]{0,63}$' } }, items(20, 'x'.repeat(5000))),
    ).toBeGreaterThan(10);
    expect(slicesOf({ type: 'string' }, 'x')).toBe(0);
  });
});

describe('ratcheting: an unchanged invalid value passes', () => {
  const short: JsonSchema = { type: 'string', maxLength: 1 };
  const pair: JsonSchema = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string' }, value: short },
  };
  const map: JsonSchema = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: pair,
  };
  test.each<{ reason: string; field: JsonSchema; old: JsonValue; value: JsonValue; count: number }>([
    { reason: 'unchanged', field: short, old: 'long', value: 'long', count: 0 },
    { reason: 'changed, still invalid', field: short, old: 'long', value: 'longer', count: 1 },
    {
      reason: 'another field changed',
      field: { type: 'object', properties: { a: short, b: short } },
      old: { a: 'long' },
      value: { a: 'long', b: 'x' },
      count: 0,
    },
    {
      reason: 'a value of a map',
      field: { type: 'object', additionalProperties: short },
      old: { a: 'long' },
      value: { a: 'long', b: 'x' },
      count: 0,
    },
    {
      reason: 'a required field of a changed parent',
      field: { type: 'object', required: ['a'], properties: { a: short, b: short } },
      old: { b: 'x' },
      value: { b: 'y' },
      count: 1,
    },
    {
      reason: 'a required field of an unchanged parent',
      field: { type: 'object', required: ['a'], properties: { a: short, b: short } },
      old: { b: 'x' },
      value: { b: 'x' },
      count: 0,
    },
    {
      reason: 'an atomic list as a whole',
      field: { type: 'array', items: short },
      old: ['long'],
      value: ['long'],
      count: 0,
    },
    {
      reason: 'an item of an atomic list',
      field: { type: 'array', items: short },
      old: ['long'],
      value: ['long', 'x'],
      count: 1,
    },
    {
      reason: 'an item of a map list, by key',
      field: map,
      old: [{ name: 'a', value: 'long' }],
      value: [{ name: 'b' }, { name: 'a', value: 'long' }],
      count: 0,
    },
    {
      reason: 'an item of a map list, other key',
      field: map,
      old: [{ name: 'a', value: 'long' }],
      value: [{ name: 'b', value: 'long' }],
      count: 1,
    },
    {
      reason: 'an existing duplicate',
      field: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      old: ['a', 'a'],
      value: ['a', 'a', 'b'],
      count: 0,
    },
    {
      reason: 'a new duplicate next to an existing one',
      field: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      old: ['a', 'a'],
      value: ['a', 'a', 'b', 'b'],
      count: 1,
    },
    {
      reason: 'a value that is there three times, named once',
      field: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      old: [],
      value: ['a', 'a', 'a'],
      count: 1,
    },
    {
      reason: 'a new duplicate of an existing value',
      field: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      old: ['a'],
      value: ['a', 'a'],
      count: 1,
    },
    {
      reason: 'a required field of an item, where another item lacked it',
      field: { type: 'array', items: pair },
      old: [{ value: 'x' }, { name: 'b' }],
      value: [{ value: 'y' }, { name: 'b' }],
      count: 1,
    },
    {
      reason: 'a required field of the value of a map, by its key',
      field: { type: 'object', additionalProperties: pair },
      old: { a: {} },
      value: { a: {}, b: {} },
      count: 1,
    },
    {
      reason: 'a combination on a changed parent',
      field: { type: 'object', properties: { a: short, b: short }, allOf: [{ properties: { a: { enum: ['x'] } } }] },
      old: { a: 'y' },
      value: { a: 'y', b: 'z' },
      count: 1,
    },
    { reason: 'a type that was already wrong', field: { type: 'integer' }, old: 'x', value: 'x', count: 0 },
  ])('$reason', ({ field, old, value, count }) => {
    expect(causesOf(field, value, old)).toHaveLength(count);
  });
});

describe('SchemaValidator.validating with the previous object', () => {
  test('compares invalid parts in separate slices, level by level', () => {
    const levels = 40;
    let schema: JsonSchema = { type: 'integer', maximum: 1 };
    let value: JsonValue = 2;
    for (let level = 0; level < levels; level += 1) {
      schema = {
        type: 'object',
        properties: { big: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, deep: schema },
      };
      value = { big: { a: 1 }, deep: value };
    }
    // All members are equal except one, so no level is equal, and each is compared.
    const change = (of: JsonValue): JsonValue =>
      JSON.parse(JSON.stringify(of).replace('"deep":2', '"deep":3')) as JsonValue;
    let slices = 0;
    const work = compileSchemaValidator(withField(schema)).validating(post(value), post(change(value)));
    let step = work.next();
    for (; step.done !== true; step = work.next()) slices += 1;
    expect(step.value).toHaveLength(1);
    expect(slices).toBeGreaterThanOrEqual(levels);
  });
});

describe('SchemaValidator.validatingStatus', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      spec: { type: 'integer' },
      status: { type: 'object', properties: { n: { type: 'integer', maximum: 1 } } },
    },
  };
  const validator = compileSchemaValidator(schema);
  const validateStatus = (object: JsonObject, old?: JsonObject): StatusCause[] =>
    runSync(validator.validatingStatus(object, old));

  test('checks only status', () => {
    expect(validateStatus({ spec: 'wrong', status: { n: 1 } })).toEqual([]);
    expect(validateStatus({ spec: 'wrong', status: { n: 2 } })).toEqual([
      expect.objectContaining({ field: 'status.n' }),
    ]);
    expect(validateStatus({ spec: 'wrong' })).toEqual([]);
  });

  test('names missing required fields below it', () => {
    const required = compileSchemaValidator({
      type: 'object',
      properties: {
        status: {
          type: 'object',
          required: ['n'],
          properties: {
            n: { type: 'integer' },
            at: { type: 'array', items: { type: 'object', required: ['x'], properties: { x: { type: 'integer' } } } },
          },
        },
      },
    });
    expect(runSync(required.validatingStatus({ status: { at: [{}] } })).map(({ field }) => field)).toEqual([
      'status.n',
      'status.at[0].x',
    ]);
  });

  test('ratchets', () => {
    expect(validateStatus({ status: { n: 2 } }, { status: { n: 2 } })).toEqual([]);
  });
});

describe('SchemaValidator.hasRules', () => {
  test.each([
    { reason: 'nowhere', schema: withField({ type: 'string' }), has: false },
    {
      reason: 'deep inside',
      schema: withField({ type: 'array', items: { type: 'string', 'x-kubernetes-validations': [{ rule: 'true' }] } }),
      has: true,
    },
    {
      reason: 'a field with that name is not a rule',
      schema: withField({ type: 'object', properties: { 'x-kubernetes-validations': { type: 'string' } } }),
      has: false,
    },
  ])('$reason', ({ schema, has }) => {
    expect(compileSchemaValidator(schema).hasRules).toBe(has);
  });
});
