import { describe, expect, test } from '@jest/globals';
import { validateStructuralSchema } from './structural-schema.ts';

function around(field: unknown): unknown {
  return { type: 'object', properties: { spec: { type: 'object', properties: { f: field } } } };
}

function fields(count: number, make: (index: number) => unknown): unknown {
  return around({
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
  return around({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': keys,
    items: { type: 'object', ...items },
  });
}

function setOf(items: object): unknown {
  return around({ type: 'array', 'x-kubernetes-list-type': 'set', items });
}

describe('validateStructuralSchema', () => {
  test.each<{ reason: string; schema: unknown; field?: string; message?: string }>([
    { reason: 'a plain field', schema: around(text) },
    { reason: 'not an object', schema: 'x', field: 's', message: 'must be a schema object' },
    { reason: 'no type at the root', schema: {}, field: 's.type', message: 'must not be empty at the root' },
    { reason: 'a list at the root', schema: list, field: 's.type', message: 'must be object at the root' },
    {
      reason: 'no type of a field',
      schema: around({}),
      field: `${at}.type`,
      message: 'must not be empty for specified object fields',
    },
    {
      reason: 'no type of items',
      schema: around({ type: 'array', items: {} }),
      field: `${at}.items.type`,
      message: 'array items',
    },
    { reason: 'no items', schema: around({ type: 'array' }), field: `${at}.items`, message: 'must be specified' },
    {
      reason: 'a list of items',
      schema: around({ type: 'array', items: [text] }),
      field: `${at}.items`,
      message: 'not an array',
    },
    { reason: 'type null', schema: around({ type: 'null' }), field: `${at}.type`, message: 'use nullable' },
    { reason: 'an unknown type', schema: around({ type: 'text' }), field: `${at}.type`, message: 'supported values' },
    {
      reason: 'several types',
      schema: around({ type: ['string'] }),
      field: `${at}.type`,
      message: 'must be of type string',
    },
    {
      reason: 'int or string',
      schema: around({
        'x-kubernetes-int-or-string': true,
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        pattern: 'x',
      }),
    },
    {
      reason: 'int or string, in allOf',
      schema: around({
        'x-kubernetes-int-or-string': true,
        allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }],
      }),
    },
    {
      reason: 'that form elsewhere',
      schema: around({ ...text, anyOf: [{ type: 'integer' }, { type: 'string' }] }),
      field: `${at}.anyOf[0].type`,
      message: 'must be empty to be structural',
    },
    {
      reason: 'int or string with a type',
      schema: around({ 'x-kubernetes-int-or-string': true, type: 'string' }),
      field: `${at}.type`,
      message: 'must be empty if',
    },
    { reason: 'anything', schema: around({ 'x-kubernetes-preserve-unknown-fields': true }) },
    {
      reason: 'preserve false',
      schema: around({ ...text, 'x-kubernetes-preserve-unknown-fields': false }),
      field: `${at}.x-kubernetes-preserve-unknown-fields`,
      message: 'must be true or undefined',
    },
    {
      reason: 'properties beside additionalProperties',
      schema: around({ type: 'object', properties: { a: text }, additionalProperties: text }),
      field: `${at}.additionalProperties`,
      message: 'mutual exclusive',
    },
    {
      reason: 'additionalProperties false',
      schema: around({ type: 'object', additionalProperties: false }),
      field: `${at}.additionalProperties`,
      message: 'cannot be set to false',
    },
    {
      reason: 'uniqueItems',
      schema: around({ ...list, uniqueItems: true }),
      field: `${at}.uniqueItems`,
      message: 'quadratic',
    },
    {
      reason: 'a reference',
      schema: around({ ...text, $ref: '#/a' }),
      field: `${at}.$ref`,
      message: '$ref is not supported',
    },
    {
      reason: 'patternProperties',
      schema: around({ type: 'object', patternProperties: {} }),
      field: `${at}.patternProperties`,
      message: 'not supported',
    },
    { reason: 'unknown keywords are ignored', schema: around({ ...text, 'x-mine': 1, deprecated: true }) },
    {
      reason: 'null is absent',
      schema: around({ ...text, required: null, default: null, maxLength: null, allOf: null }),
    },
    {
      reason: 'a lookahead',
      schema: around({ ...text, pattern: '(?=a)' }),
      field: `${at}.pattern`,
      message: 'must be a valid regular expression',
    },
    {
      reason: 'a huge pattern',
      schema: around({ ...text, pattern: '(a{900}b){3}' }),
      field: `${at}.pattern`,
      message: 'must be a valid regular expression',
    },
    {
      reason: 'a text as limit',
      schema: around({ ...text, maxLength: '5' }),
      field: `${at}.maxLength`,
      message: 'must be of type integer',
    },
    {
      reason: 'a negative limit',
      schema: around({ ...text, maxLength: -1 }),
      field: `${at}.maxLength`,
      message: 'not negative',
    },
    {
      reason: 'an infinite limit',
      schema: around({ type: 'number', maximum: Infinity }),
      field: `${at}.maximum`,
      message: 'must be of type number',
    },
    {
      reason: 'a number as exclusive limit (the later dialect)',
      schema: around({ type: 'number', exclusiveMaximum: 5 }),
      field: `${at}.exclusiveMaximum`,
      message: 'must be of type boolean',
    },
    {
      reason: 'an empty enum',
      schema: around({ ...text, enum: [] }),
      field: `${at}.enum`,
      message: 'must not be empty',
    },
    {
      reason: 'multiples of nothing',
      schema: around({ type: 'number', multipleOf: 0 }),
      field: `${at}.multipleOf`,
      message: 'greater than 0',
    },
    {
      reason: 'required of numbers',
      schema: around({ type: 'object', required: [1] }),
      field: `${at}.required`,
      message: 'array of strings',
    },
    {
      reason: 'a description inside a combination',
      schema: around({ ...text, not: { description: 'x' } }),
      field: `${at}.not.description`,
      message: 'must be empty to be structural',
    },
    {
      reason: 'additionalProperties inside a combination',
      schema: around({ type: 'object', additionalProperties: text, allOf: [{ additionalProperties: false }] }),
      field: `${at}.allOf[0].additionalProperties`,
      message: 'must be empty',
    },
    {
      reason: 'a field only in a combination',
      schema: around({ type: 'object', anyOf: [{ properties: { a: { minLength: 1 } } }] }),
      field: `${at}.properties[a]`,
      message: 'because it is defined in',
    },
    {
      reason: 'a combination that is none',
      schema: around({ ...text, anyOf: {} }),
      field: `${at}.anyOf`,
      message: 'must be an array of schemas',
    },
    {
      reason: 'a name of prototypes',
      schema: around({ type: 'object', properties: { constructor: text } }),
      field: `${at}.properties[constructor]`,
      message: 'reserved',
    },
    {
      reason: 'another name of prototypes',
      schema: JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
      field: 's.properties[__proto__]',
      message: 'reserved',
    },
    { reason: 'nested too deep', schema: around(nested(200)), message: 'deeper than 100' },
    { reason: 'nested deep', schema: around(nested(90)) },
    {
      reason: 'a map list without keys',
      schema: around({ type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } }),
      field: `${at}.x-kubernetes-list-map-keys`,
      message: 'must not be empty',
    },
    {
      reason: 'a map list of texts',
      schema: around({ ...list, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] }),
      field: `${at}.items.type`,
      message: 'must be object',
    },
    {
      reason: 'a key that is no field',
      schema: around({
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
      schema: around({
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
      schema: around({ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } }),
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
      reason: 'a key twice',
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
      reason: 'a list type of a text',
      schema: around({ ...text, 'x-kubernetes-list-type': 'atomic' }),
      field: `${at}.type`,
      message: 'must be array',
    },
    {
      reason: 'a map type of a list',
      schema: around({ ...list, 'x-kubernetes-map-type': 'atomic' }),
      field: `${at}.type`,
      message: 'must be object',
    },
    {
      reason: 'an unknown map type',
      schema: around({ type: 'object', 'x-kubernetes-map-type': 'loose' }),
      field: `${at}.x-kubernetes-map-type`,
      message: 'supported values',
    },
    {
      reason: 'keys without a map list',
      schema: around({ ...list, 'x-kubernetes-list-map-keys': ['a'] }),
      field: `${at}.x-kubernetes-list-map-keys`,
      message: 'not map',
    },
    {
      reason: 'an unknown list type',
      schema: around({ ...list, 'x-kubernetes-list-type': 'bag' }),
      field: `${at}.x-kubernetes-list-type`,
      message: 'supported values',
    },
    { reason: 'a default', schema: around({ ...text, default: 'x' }) },
    {
      reason: 'a default of another type',
      schema: around({ ...text, default: 1 }),
      field: `${at}.default`,
      message: 'must be of type string',
    },
    {
      reason: 'a default that breaks its rule',
      schema: around({ ...text, minLength: 3, default: 'x' }),
      field: `${at}.default`,
      message: 'at least 3 chars',
    },
    {
      reason: 'a default with unknown fields',
      schema: around({ type: 'object', default: { a: 1 } }),
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
      schema: around({
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        properties: { metadata: { type: 'object', properties: { name: { ...text, default: 'x' } } } },
      }),
    },
    {
      reason: 'a default of embedded annotations',
      schema: around({
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
      reason: 'a kind that is no text',
      schema: { type: 'object', properties: { kind: { type: 'integer' } } },
      field: 's.properties[kind].type',
      message: 'must be string',
    },
    {
      reason: 'an embedded text',
      schema: around({ ...text, 'x-kubernetes-embedded-resource': true }),
      field: `${at}.type`,
      message: 'must be object',
    },
    {
      reason: 'a rule without its text',
      schema: around({ ...text, 'x-kubernetes-validations': [{}] }),
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

  test('one that refers to itself ends', () => {
    const schema: { type: string; properties: Record<string, unknown> } = { type: 'object', properties: {} };
    schema.properties = { a: schema, b: schema };
    expect(validateStructuralSchema(schema, 's')).toHaveLength(1);
  });

  test('the size is limited: parts, different rules, patterns', () => {
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

  test('what checking its defaults takes is limited, however they are spread', () => {
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

  test('at most 100 causes', () => {
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, {}]));
    expect(validateStructuralSchema({ type: 'object', properties }, 's')).toHaveLength(100);
  });
});
