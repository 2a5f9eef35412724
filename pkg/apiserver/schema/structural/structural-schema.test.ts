import { describe, expect, test } from '@jest/globals';
import { validateStructuralSchema } from './structural-schema.ts';

function withField(field: unknown): unknown {
  return { type: 'object', properties: { spec: { type: 'object', properties: { f: field } } } };
}

function fields(count: number, make: (index: number) => unknown): unknown {
  return withField({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, make(index)])),
  });
}

function nested(depth: number): unknown {
  let schema: unknown = { type: 'string' };
  for (let level = 0; level < depth; level++) schema = { type: 'array', items: schema };
  return schema;
}

const text = { type: 'string' };
const list = { type: 'array', items: text };
const at = 's.properties[spec].properties[f]';

/** A map list of items with these keys. */
function mapList(keys: string[], items: object): unknown {
  return withField({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': keys,
    items: { type: 'object', ...items },
  });
}

function setOf(items: object): unknown {
  return withField({ type: 'array', 'x-kubernetes-list-type': 'set', items });
}

describe('validateStructuralSchema', () => {
  test.each<{ reason: string; schema: unknown; field?: string; message?: string }>([
    { reason: 'a plain field', schema: withField(text) },
    { reason: 'not an object', schema: 'x', field: 's', message: 'must be a schema object' },
    { reason: 'no type at the root', schema: {}, field: 's.type', message: 'must not be empty at the root' },
    { reason: 'a list at the root', schema: list, field: 's.type', message: 'must be object at the root' },
    {
      reason: 'no type of a field',
      schema: withField({}),
      field: `${at}.type`,
      message: 'must not be empty for specified object fields',
    },
    {
      reason: 'no type of items',
      schema: withField({ type: 'array', items: {} }),
      field: `${at}.items.type`,
      message: 'array items',
    },
    { reason: 'no items', schema: withField({ type: 'array' }), field: `${at}.items`, message: 'must be specified' },
    {
      reason: 'a list of items',
      schema: withField({ type: 'array', items: [text] }),
      field: `${at}.items`,
      message: 'not an array',
    },
    { reason: 'type null', schema: withField({ type: 'null' }), field: `${at}.type`, message: 'use nullable' },
    {
      reason: 'an unknown type',
      schema: withField({ type: 'text' }),
      field: `${at}.type`,
      message: 'supported values',
    },
    {
      reason: 'several types',
      schema: withField({ type: ['string'] }),
      field: `${at}.type`,
      message: 'must be of type string',
    },
    {
      reason: 'int or string',
      schema: withField({
        'x-kubernetes-int-or-string': true,
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        pattern: 'x',
      }),
    },
    {
      reason: 'int or string, in allOf',
      schema: withField({
        'x-kubernetes-int-or-string': true,
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }],
      }),
    },
    {
      reason: 'anyOf of types in other places',
      schema: withField({ ...text, anyOf: [{ type: 'integer' }, { type: 'string' }] }),
      field: `${at}.anyOf[0].type`,
      message: 'must be empty to be structural',
    },
    {
      reason: 'int or string with a type',
      schema: withField({ 'x-kubernetes-int-or-string': true, type: 'string' }),
      field: `${at}.type`,
      message: 'must be empty if',
    },
    { reason: 'anything', schema: withField({ 'x-kubernetes-preserve-unknown-fields': true }) },
    {
      reason: 'preserve false',
      schema: withField({ ...text, 'x-kubernetes-preserve-unknown-fields': false }),
      field: `${at}.x-kubernetes-preserve-unknown-fields`,
      message: 'must be true or undefined',
    },
    {
      reason: 'properties next to additionalProperties',
      schema: withField({ type: 'object', properties: { a: text }, additionalProperties: text }),
      field: `${at}.additionalProperties`,
      message: 'mutual exclusive',
    },
    {
      reason: 'additionalProperties false',
      schema: withField({ type: 'object', additionalProperties: false }),
      field: `${at}.additionalProperties`,
      message: 'cannot be set to false',
    },
    {
      reason: 'uniqueItems',
      schema: withField({ ...list, uniqueItems: true }),
      field: `${at}.uniqueItems`,
      message: 'quadratic',
    },
    {
      reason: 'a reference',
      schema: withField({ ...text, $ref: '#/a' }),
      field: `${at}.$ref`,
      message: '$ref is not supported',
    },
    {
      reason: 'patternProperties',
      schema: withField({ type: 'object', patternProperties: {} }),
      field: `${at}.patternProperties`,
      message: 'not supported',
    },
    { reason: 'unknown keywords are ignored', schema: withField({ ...text, 'x-mine': 1, deprecated: true }) },
    {
      reason: 'null is absent',
      schema: withField({ ...text, required: null, default: null, maxLength: null, allOf: null }),
    },
    {
      reason: 'a lookahead',
      schema: withField({ ...text, pattern: '(?=a)' }),
      field: `${at}.pattern`,
      message: 'must be a valid regular expression',
    },
    {
      reason: 'a huge pattern',
      schema: withField({ ...text, pattern: '(a{900}b){3}' }),
      field: `${at}.pattern`,
      message: 'must be a valid regular expression',
    },
    {
      reason: 'a string as a limit',
      schema: withField({ ...text, maxLength: '5' }),
      field: `${at}.maxLength`,
      message: 'must be of type integer',
    },
    {
      reason: 'a negative limit',
      schema: withField({ ...text, maxLength: -1 }),
      field: `${at}.maxLength`,
      message: 'not negative',
    },
    {
      reason: 'an infinite limit',
      schema: withField({ type: 'number', maximum: Infinity }),
      field: `${at}.maximum`,
      message: 'must be of type number',
    },
    {
      reason: 'a number as exclusive limit (the later dialect)',
      schema: withField({ type: 'number', exclusiveMaximum: 5 }),
      field: `${at}.exclusiveMaximum`,
      message: 'must be of type boolean',
    },
    {
      reason: 'an empty enum',
      schema: withField({ ...text, enum: [] }),
      field: `${at}.enum`,
      message: 'must not be empty',
    },
    {
      reason: 'multipleOf 0',
      schema: withField({ type: 'number', multipleOf: 0 }),
      field: `${at}.multipleOf`,
      message: 'greater than 0',
    },
    {
      reason: 'required of numbers',
      schema: withField({ type: 'object', required: [1] }),
      field: `${at}.required`,
      message: 'array of strings',
    },
    {
      reason: 'a description inside a combination',
      schema: withField({ ...text, not: { description: 'x' } }),
      field: `${at}.not.description`,
      message: 'must be empty to be structural',
    },
    {
      reason: 'additionalProperties inside a combination',
      schema: withField({ type: 'object', additionalProperties: text, allOf: [{ additionalProperties: false }] }),
      field: `${at}.allOf[0].additionalProperties`,
      message: 'must be empty',
    },
    {
      reason: 'a field only in a combination',
      schema: withField({ type: 'object', anyOf: [{ properties: { a: { minLength: 1 } } }] }),
      field: `${at}.properties[a]`,
      message: 'because it is defined in',
    },
    {
      reason: 'an invalid combination',
      schema: withField({ ...text, anyOf: {} }),
      field: `${at}.anyOf`,
      message: 'must be an array of schemas',
    },
    {
      reason: 'a prototype key',
      schema: withField({ type: 'object', properties: { constructor: text } }),
      field: `${at}.properties[constructor]`,
      message: 'reserved',
    },
    {
      reason: 'another prototype key',
      schema: JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
      field: 's.properties[__proto__]',
      message: 'reserved',
    },
    { reason: 'nested too deep', schema: withField(nested(200)), message: 'deeper than 100' },
    { reason: 'nested deep', schema: withField(nested(90)) },
    {
      reason: 'a map list without keys',
      schema: withField({ type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } }),
      field: `${at}.x-kubernetes-list-map-keys`,
      message: 'must not be empty',
    },
    {
      reason: 'a map list of strings',
      schema: withField({ ...list, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] }),
      field: `${at}.items.type`,
      message: 'must be object',
    },
    {
      reason: 'a key that is not a field',
      schema: withField({
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a'],
        items: { type: 'object' },
      }),
      field: `${at}.x-kubernetes-list-map-keys[0]`,
      message: 'names of item properties',
    },
    {
      reason: 'a key that may be absent',
      schema: withField({
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a'],
        items: { type: 'object', properties: { a: text } },
      }),
      field: `${at}.items.properties[a].default`,
      message: 'default or be a required',
    },
    {
      reason: 'a set of granular objects',
      schema: withField({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } }),
      field: `${at}.items.x-kubernetes-map-type`,
      message: 'must be atomic',
    },
    { reason: 'a key that is required', schema: mapList(['a'], { required: ['a'], properties: { a: text } }) },
    {
      reason: 'a key with a default',
      schema: mapList(['a', 'b'], {
        required: ['a'],
        properties: { a: { type: 'boolean' }, b: { ...text, default: 'x' } },
      }),
    },
    {
      reason: 'a duplicate key',
      schema: mapList(['a', 'b', 'a'], { required: ['a', 'b'], properties: { a: text, b: text } }),
      field: `${at}.x-kubernetes-list-map-keys[2]`,
      message: 'Duplicate value: "a"',
    },
    {
      reason: 'a key that may be null',
      schema: mapList(['a'], { required: ['a'], properties: { a: { ...text, nullable: true } } }),
      field: `${at}.items.properties[a].nullable`,
      message: 'cannot be nullable',
    },
    {
      reason: 'a key that is an object',
      schema: mapList(['a'], { required: ['a'], properties: { a: { type: 'object' } } }),
      field: `${at}.items.properties[a].type`,
      message: 'must be a scalar type',
    },
    {
      reason: 'items of a map list that may be null',
      schema: mapList(['a'], { nullable: true, required: ['a'], properties: { a: text } }),
      field: `${at}.items.nullable`,
      message: 'cannot be nullable',
    },
    {
      reason: 'items of a set that may be null',
      schema: setOf({ ...text, nullable: true }),
      field: `${at}.items.nullable`,
      message: 'cannot be nullable',
    },
    { reason: 'a set of atomic objects', schema: setOf({ type: 'object', 'x-kubernetes-map-type': 'atomic' }) },
    { reason: 'a set of lists', schema: setOf(list) },
    {
      reason: 'a set of sets',
      schema: setOf({ ...list, 'x-kubernetes-list-type': 'set' }),
      field: `${at}.items.x-kubernetes-list-type`,
      message: 'must be atomic',
    },
    {
      reason: 'a list type on a string',
      schema: withField({ ...text, 'x-kubernetes-list-type': 'atomic' }),
      field: `${at}.type`,
      message: 'must be array',
    },
    {
      reason: 'a map type on a list',
      schema: withField({ ...list, 'x-kubernetes-map-type': 'atomic' }),
      field: `${at}.type`,
      message: 'must be object',
    },
    {
      reason: 'an unknown map type',
      schema: withField({ type: 'object', 'x-kubernetes-map-type': 'loose' }),
      field: `${at}.x-kubernetes-map-type`,
      message: 'supported values',
    },
    {
      reason: 'keys without a map list',
      schema: withField({ ...list, 'x-kubernetes-list-map-keys': ['a'] }),
      field: `${at}.x-kubernetes-list-map-keys`,
      message: 'not map',
    },
    {
      reason: 'an unknown list type',
      schema: withField({ ...list, 'x-kubernetes-list-type': 'bag' }),
      field: `${at}.x-kubernetes-list-type`,
      message: 'supported values',
    },
    { reason: 'a default', schema: withField({ ...text, default: 'x' }) },
    {
      reason: 'a default of another type',
      schema: withField({ ...text, default: 1 }),
      field: `${at}.default`,
      message: 'must be of type string',
    },
    {
      reason: 'a default that violates its rule',
      schema: withField({ ...text, minLength: 3, default: 'x' }),
      field: `${at}.default`,
      message: 'at least 3 chars',
    },
    {
      reason: 'a default with unknown fields',
      schema: withField({ type: 'object', default: { a: 1 } }),
      field: `${at}.default`,
      message: 'unknown fields: a',
    },
    {
      reason: 'a default below metadata',
      schema: {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { ...text, default: 'x' } } } },
      },
      field: 's.properties[metadata].properties[name].default',
      message: 'must not be set in metadata',
    },
    {
      reason: 'a default of an embedded name',
      schema: withField({
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        properties: { metadata: { type: 'object', properties: { name: { ...text, default: 'x' } } } },
      }),
    },
    {
      reason: 'a default of embedded annotations',
      schema: withField({
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        properties: { metadata: { type: 'object', properties: { annotations: { type: 'object', default: {} } } } },
      }),
      field: `${at}.properties[metadata].properties[annotations].default`,
      message: 'must not be set',
    },
    {
      reason: 'labels at the root',
      schema: {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      },
      field: 's.properties[metadata]',
      message: 'other than name and generateName',
    },
    {
      reason: 'a kind that is not a string',
      schema: { type: 'object', properties: { kind: { type: 'integer' } } },
      field: 's.properties[kind].type',
      message: 'must be string',
    },
    {
      reason: 'an embedded resource of type string',
      schema: withField({ ...text, 'x-kubernetes-embedded-resource': true }),
      field: `${at}.type`,
      message: 'must be object',
    },
    {
      reason: 'a rule without an expression',
      schema: withField({ ...text, 'x-kubernetes-validations': [{}] }),
      field: `${at}.x-kubernetes-validations`,
      message: 'array of rules',
    },
  ])('$reason', ({ schema, field, message }) => {
    const causes = validateStructuralSchema(schema, 's');
    if (message === undefined) {
      expect(causes).toEqual([]);
    } else {
      expect(causes[0]?.message).toContain(message);
      if (field !== undefined) expect(causes[0]?.field).toBe(field);
    }
  });

  test('the check of a schema that contains itself ends', () => {
    const schema: { type: string; properties: Record<string, unknown> } = { type: 'object', properties: {} };
    schema.properties = { a: schema, b: schema };
    expect(validateStructuralSchema(schema, 's')).toHaveLength(1);
  });

  test('limits the number of parts, different rules and patterns', () => {
    expect(
      validateStructuralSchema(
        fields(3000, () => text),
        's',
      ),
    ).toEqual([]);
    expect(
      validateStructuralSchema(
        fields(6000, (index) => ({ ...text, maxLength: index })),
        's',
      )[0]?.message,
    ).toContain('different rules');
    expect(
      validateStructuralSchema(
        fields(200, (index) => ({ ...text, pattern: `^a{0,900}${index}$` })),
        's',
      )[0]?.message,
    ).toContain('too large together');
  });

  test('limits the work of checking defaults, wherever they are', () => {
    const entry = { type: 'object', properties: { a: { ...text, default: 'x'.repeat(10_000) } } };
    const many = fields(30, () => ({ type: 'array', items: entry, default: [{}, {}, {}, {}, {}] }));
    expect(validateStructuralSchema(many, 's')[0]?.message).toContain(
      'the defaults within the defaults of the schema are too large together',
    );
    const matched = fields(40, () => ({
      type: 'array',
      items: { ...text, pattern: '^(a|b)*a(a|b){300}$' },
      default: Array.from({ length: 20 }, () => 'a'.repeat(1000)),
    }));
    expect(
      validateStructuralSchema(matched, 's')
        .map(({ message }) => message)
        .join(),
    ).toContain('too much text');
    const tried = fields(40, () => ({
      type: 'array',
      items: { type: 'integer', anyOf: Array.from({ length: 20 }, (_, index) => ({ minimum: 20 - index })) },
      default: Array.from({ length: 500 }, () => 1),
    }));
    expect(validateStructuralSchema(tried, 's')[0]?.message).toContain('takes too much work');
  });

  test('gives at most 100 causes', () => {
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, {}]));
    expect(validateStructuralSchema({ type: 'object', properties }, 's')).toHaveLength(100);
  });
});
