import fc from 'fast-check';
import type { Schema } from './models-definition.ts';

const names = ['a', 'b', 'c', 'd'];
const words = ['', 'x', 'yy', 'zzz', 'a-b', 'ü😀', 'null'];

/** Valid structural schemas for every kind of value, a few levels deep. */
export const anySchema: fc.Arbitrary<Schema> = fc.letrec<{ schema: Schema; object: Schema }>((tie) => ({
  schema: fc
    .oneof(
      { depthSize: 'small', withCrossShrink: true },
      stringSchema(),
      integerSchema(),
      fc.constant<Schema>({ type: 'boolean' }),
      fc.constant<Schema>({ type: 'number', minimum: -1.5, maximum: 1.5 }),
      fc.constant<Schema>({ 'x-kubernetes-int-or-string': true }),
      fc.tuple(tie('schema'), fc.option(fc.nat(3), { nil: undefined })).map(([items, maxItems]): Schema => ({
        type: 'array',
        items,
        ...(maxItems === undefined ? {} : { maxItems }),
      })),
      tie('schema').map((additionalProperties): Schema => ({ type: 'object', additionalProperties })),
      tie('object'),
    )
    .chain((schema) =>
      fc.boolean().map((nullable) => (nullable && 'type' in schema ? { ...schema, nullable } : schema)),
    ),
  object: fc
    .tuple(fc.dictionary(fc.constantFrom(...names), tie('schema'), { maxKeys: 4 }), fc.subarray(names), fc.boolean())
    .map(([properties, required, open]): Schema => ({
      type: 'object',
      properties: { ...properties },
      required: required.filter((name) => Object.hasOwn(properties, name)),
      ...(open ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    })),
})).object;

function stringSchema(): fc.Arbitrary<Schema> {
  return fc.oneof(
    fc
      .tuple(fc.nat(2), fc.nat(3))
      .map(([minLength, more]): Schema => ({ type: 'string', minLength, maxLength: minLength + more })),
    fc.constant<Schema>({ type: 'string', enum: ['x', 'yy'] }),
    fc.constant<Schema>({ type: 'string', pattern: '^[a-z-]*$' }),
    fc.constantFrom(...words.slice(0, 4)).map((text): Schema => ({ type: 'string', default: text })),
  );
}

function integerSchema(): fc.Arbitrary<Schema> {
  return fc
    .tuple(fc.integer({ min: -5, max: 5 }), fc.nat(5))
    .map(([minimum, more]): Schema => ({ type: 'integer', minimum, maximum: minimum + more }));
}

const leaf = fc.oneof(
  fc.constantFrom(...words),
  fc.integer({ min: -10, max: 10 }),
  fc.double({ min: -2, max: 2, noNaN: true }),
  fc.boolean(),
  fc.constant(null),
);

/** Values that resemble such schemas, and sometimes any JSON. */
export const anyValue: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  {
    arbitrary: fc.dictionary(fc.constantFrom(...names, 'other', '__proto__', 'constructor'), nearValue(2), {
      maxKeys: 4,
    }),
    weight: 4,
  },
  { arbitrary: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 }), weight: 1 },
);

function nearValue(depth: number): fc.Arbitrary<unknown> {
  if (depth === 0) return leaf;
  const inner = nearValue(depth - 1);
  return fc.oneof(
    leaf,
    fc.array(inner, { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), inner, { maxKeys: 3 }),
  );
}

/** Values that satisfy such a schema. */
export function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const {
    properties = {},
    required = [],
    additionalProperties,
    items,
    maxItems = 3,
    minimum = -2,
    maximum = 2,
  } = schema as unknown as ValueRules;
  if (schema['x-kubernetes-int-or-string'] === true) return fc.constantFrom<unknown>(-7, 0, '', '80%');
  switch (schema['type']) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: minimum, max: maximum });
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(valueOf(items), { maxLength: maxItems });
    default:
      if (additionalProperties !== undefined)
        return fc.dictionary(fc.constantFrom('k', 'a.b', 'x/y'), valueOf(additionalProperties), { maxKeys: 2 });
      return fc.record(Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, valueOf(inner)])), {
        requiredKeys: required,
        noNullPrototype: true,
      });
  }
}

interface ValueRules {
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  items: Schema;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
}

function textOf({
  enum: allowed,
  pattern,
  minLength = 0,
  maxLength = 4,
}: Schema & { enum?: string[]; pattern?: string; minLength?: number; maxLength?: number }): fc.Arbitrary<string> {
  if (allowed !== undefined) return fc.constantFrom(...allowed);
  if (pattern !== undefined) return fc.constantFrom('', 'a-b', 'zz');
  return fc
    .array(fc.constantFrom('x', 'Ü', '😀', ' ', '"', '\n'), { minLength, maxLength })
    .map((characters) => characters.join(''));
}

/** The violations of a stored value, computed independently of the server; empty if it is valid. */
export function broken(schema: Schema, value: unknown, path = 'spec'): string[] {
  if (value === null) return schema['nullable'] === true ? [] : [`${path} is null`];
  if (schema['x-kubernetes-int-or-string'] === true)
    return Number.isInteger(value) || typeof value === 'string' ? [] : [`${path} is neither`];
  switch (schema['type']) {
    case 'string':
      return typeof value === 'string' ? brokenText(schema, value, path) : [`${path} is no string`];
    case 'integer':
      return Number.isInteger(value) ? brokenRange(schema, value as number, path) : [`${path} is no integer`];
    case 'number':
      return typeof value === 'number' ? brokenRange(schema, value, path) : [`${path} is no number`];
    case 'boolean':
      return typeof value === 'boolean' ? [] : [`${path} is no boolean`];
    case 'array':
      return Array.isArray(value) ? brokenList(schema, value, path) : [`${path} is no list`];
    default:
      return typeof value === 'object' && !Array.isArray(value)
        ? brokenObject(schema, value as Record<string, unknown>, path)
        : [`${path} is no object`];
  }
}

function brokenText(schema: Schema, value: string, path: string): string[] {
  const {
    minLength = 0,
    maxLength = Infinity,
    pattern = '',
    enum: allowed = [value],
  } = schema as { minLength?: number; maxLength?: number; pattern?: string; enum?: string[] };
  const length = Array.from(value).length;
  const legal =
    length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(value) && allowed.includes(value);
  return legal ? [] : [`${path} is ${JSON.stringify(value)}`];
}

function brokenRange(schema: Schema, value: number, path: string): string[] {
  const { minimum = -Infinity, maximum = Infinity } = schema as { minimum?: number; maximum?: number };
  return value >= minimum && value <= maximum ? [] : [`${path} is ${value}`];
}

function brokenList(schema: Schema, value: unknown[], path: string): string[] {
  const { maxItems = Infinity, items } = schema as { maxItems?: number; items: Schema };
  const long = value.length > maxItems ? [`${path} has ${value.length} items`] : [];
  return [...long, ...value.flatMap((item, i) => broken(items, item, `${path}[${i}]`))];
}

function brokenObject(schema: Schema, value: Record<string, unknown>, path: string): string[] {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as { properties?: Record<string, Schema>; required?: string[]; additionalProperties?: Schema };
  const absent = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${path}.${name} is absent`);
  const inner = Object.entries(value).flatMap(([name, field]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (known !== undefined) return broken(known, field, `${path}.${name}`);
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? [] : [`${path}.${name} is unknown`];
  });
  return [...absent, ...inner];
}
