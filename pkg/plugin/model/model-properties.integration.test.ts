import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Type, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { isStatusError, type AnyObject, type Client, type ResourceType } from '#pkg/apimachinery/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { defineModel } from './define-model.ts';
import { registerModel } from './register-model.ts';

let env: TestEnv;
let client: Client;

beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
});
afterAll(() => env?.stop());

test('the server accepts what TypeBox accepts, and TypeBox accepts what the server stores', async () => {
  const samples = anySchema.chain(({ schema, values }) =>
    fc.record({ schema: fc.constant(schema), values: fc.array(values, { minLength: 4, maxLength: 8 }) }),
  );
  let models = 0;
  const counts = { accepted: 0, refused: 0 };
  const examine = async (group: { schema: TSchema; values: unknown[] }[]): Promise<void> => {
    models += 1;
    const fields = Object.fromEntries(group.map(({ schema }, i) => [`s${i}`, Type.Optional(schema)]));
    const model = defineModel({
      group: 'random.example.com',
      version: 'v1',
      kind: `Random${models}`,
      plural: `randoms${models}`,
      singular: `random${models}`,
      spec: Type.Object(fields),
    });
    await registerModel(client, model);
    const type: ResourceType = model;
    for (const [i, { schema, values }] of group.entries()) {
      for (const value of values) {
        const stored = await storedAs(type, { [`s${i}`]: value });
        const isLegal = Value.Check(schema, value);
        counts[isLegal ? 'accepted' : 'refused'] += 1;
        const shown = JSON.stringify([schema, value, stored]);
        if (isLegal) expect([shown, stored !== undefined && isPartOf(stored[`s${i}`], value)]).toEqual([shown, true]);
        // Compares what is stored: the server drops nulls that are not allowed, and fills in defaults.
        else if (stored !== undefined) expect([shown, Value.Check(Type.Object(fields), stored)]).toEqual([shown, true]);
      }
    }
  };
  await fc.assert(fc.asyncProperty(fc.array(samples, { minLength: 20, maxLength: 20 }), examine), {
    numRuns: 8,
    endOnFailure: true,
  });
  expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(50);
});

/** The stored spec; undefined if it is refused. */
async function storedAs(type: ResourceType, spec: unknown): Promise<Record<string, unknown> | undefined> {
  const object: AnyObject = {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name: 'a' },
    spec,
  };
  try {
    return (await client.create(type, object, { dryRun: true, fieldValidation: 'Ignore' })).spec as Record<
      string,
      unknown
    >;
  } catch (error) {
    if (isStatusError(error, 'Invalid')) return undefined;
    throw error;
  }
}

/** Whether the stored value is the given one, except for unknown fields and defaults. */
function isPartOf(stored: unknown, given: unknown): boolean {
  if (Array.isArray(given))
    return (
      Array.isArray(stored) && stored.length === given.length && given.every((item, i) => isPartOf(stored[i], item))
    );
  if (typeof given !== 'object' || given === null) return stored === given;
  if (typeof stored !== 'object' || stored === null) return false;
  return Object.entries(given).every(
    ([name, value]) => !Object.hasOwn(stored, name) || isPartOf((stored as Record<string, unknown>)[name], value),
  );
}

/** A schema with values that resemble it: many are valid. */
interface SchemaSample {
  schema: TSchema;
  values: fc.Arbitrary<unknown>;
}

const names = ['a', 'b', 'c', 'd.e', 'f g'];

const scalar: fc.Arbitrary<SchemaSample> = fc.oneof(
  fc.tuple(fc.nat(2), fc.nat(3)).map(([minLength, more]) => ({
    schema: Type.String({ minLength, maxLength: minLength + more }),
    values: fc.string({ maxLength: 6, unit: 'grapheme-ascii' }),
  })),
  fc.constantFrom('^[ab]+$', 'a', '^.b?$').map((pattern) => ({
    schema: Type.String({ pattern }),
    values: fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', 'c') }),
  })),
  fc.constant({
    schema: Type.String({ default: 'x', maxLength: 3 }),
    values: fc.string({ maxLength: 4, unit: 'grapheme-ascii' }),
  }),
  fc.tuple(fc.integer({ min: -5, max: 5 }), fc.nat(5)).map(([minimum, more]) => ({
    schema: Type.Integer({ minimum, maximum: minimum + more }),
    values: fc.integer({ min: -7, max: 12 }),
  })),
  fc.integer({ min: -5, max: 5 }).map((edge) => ({
    schema: Type.Integer({ exclusiveMinimum: edge, exclusiveMaximum: edge + 4 }),
    values: fc.integer({ min: edge - 1, max: edge + 5 }),
  })),
  fc.constant({ schema: Type.Integer({ multipleOf: 3 }), values: fc.integer({ min: -9, max: 9 }) }),
  fc.constant({
    schema: Type.Number({ minimum: -1, maximum: 1.5, exclusiveMaximum: 1.5 }),
    values: fc.constantFrom(-1.5, -1, 0, 0.25, 1.5, 2),
  }),
  fc.constant({ schema: Type.Boolean(), values: fc.boolean() }),
  fc.subarray(['a', 'b', 1, 2], { minLength: 1 }).map((literals) => ({
    schema: Type.Union(literals.map((literal) => Type.Literal(literal))),
    values: fc.constantFrom<unknown>('a', 'b', 'c', 1, 2, 3),
  })),
  fc
    .subarray(['x', 'y', 'z'], { minLength: 1 })
    .map((literals) => ({ schema: Type.Enum(literals), values: fc.constantFrom('x', 'y', 'z') })),
  fc.constantFrom(true, false).map((literal) => ({ schema: Type.Literal(literal), values: fc.boolean() })),
  fc.constant({
    schema: Type.Union([Type.Integer(), Type.String()]),
    values: fc.oneof(
      fc.integer({ min: -9, max: 9 }),
      fc.string({ maxLength: 3, unit: 'grapheme-ascii' }),
      fc.constant(0.5),
    ),
  }),
  fc.constant({
    schema: Type.Unknown(),
    values: fc.constantFrom<unknown>(null, true, '', 0.5, 1e-300, [1, [null, 'x']], { a: { 'b.c': null } }),
  }),
);

/** Schemas of every kind that a definition can express, a few levels deep. */
const anySchema: fc.Arbitrary<SchemaSample> = fc.letrec<{ node: SchemaSample; scalar: SchemaSample }>((tie) => ({
  scalar,
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    tie('scalar'),
    tie('node')
      .map(({ schema, values }) => ({ schema: Type.Union([schema, Type.Null()]), values: fc.option(values) }))
      .filter(({ schema }) => isSayable(schema)),
    fc.tuple(tie('node'), fc.nat(2)).map(([{ schema, values }, minItems]) => ({
      schema: Type.Array(schema, { minItems, maxItems: minItems + 1 }),
      values: fc.array(values, { maxLength: 4 }),
    })),
    fc.constant({
      schema: Type.Array(Type.Integer(), { uniqueItems: true }),
      values: fc.array(fc.nat(3), { maxLength: 3 }),
    }),
    tie('node').map(({ schema, values }) => ({
      schema: Type.Record(Type.String(), schema),
      values: fc.dictionary(fc.constantFrom(...names), values, { maxKeys: 2, noNullPrototype: true }),
    })),
    fc
      .tuple(
        fc.dictionary(fc.constantFrom(...names), fc.tuple(tie('node'), fc.boolean()), {
          maxKeys: 4,
          noNullPrototype: true,
        }),
        fc.boolean(),
      )
      .map(([fields, isOpen]) => objectOf(fields, isOpen)),
  ),
})).node;

function objectOf(fields: Record<string, [SchemaSample, boolean]>, isOpen: boolean): SchemaSample {
  const entries = Object.entries(fields);
  const properties = Object.fromEntries(
    entries.map(([name, [{ schema }, isOptional]]) => [name, isOptional ? Type.Optional(schema) : schema]),
  );
  const values = fc.record(
    { ...Object.fromEntries(entries.map(([name, [sample]]) => [name, sample.values])), other: fc.boolean() },
    { requiredKeys: [], noNullPrototype: true },
  );
  const whole = fc.record(Object.fromEntries(entries.map(([name, [sample]]) => [name, sample.values])), {
    noNullPrototype: true,
  });
  return {
    schema: Type.Object(properties, isOpen ? { additionalProperties: true } : {}),
    values: fc.oneof(values, whole),
  };
}

/** A union of any value and null is the same as any value: the dialect cannot tell them apart. */
function isSayable(schema: TSchema): boolean {
  const [branch] = (schema as unknown as { anyOf: TSchema[] }).anyOf;
  return Object.keys(branch ?? {}).length > 0;
}
