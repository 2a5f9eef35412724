import type { HoldCase } from '../hold-case.ts';
import type { MeasuredRequest } from '../measured-server.ts';
import {
  collectionOf,
  definition,
  definitionsPath,
  group,
  many,
  members,
  nested,
  object,
  openObject,
  withSpec,
  type SampleVersion,
} from '../sample-model.ts';

const text = { type: 'string' };

interface HostileDefinition {
  name: string;
  versions: () => SampleVersion[];
  /** Changes the complete definition. */
  alter?: (whole: Record<string, unknown>) => Record<string, unknown>;
}

const defaulted = {
  type: 'object',
  properties: { a: { type: 'object', default: members(40_000, (i) => i), ...openObject } },
};

const hostile: HostileDefinition[] = [
  {
    name: 'twenty thousand fields',
    versions: () => [{ schema: withSpec({ type: 'object', properties: members(20_000, () => text) }) }],
  },
  {
    name: 'as many fields as fit',
    versions: () => [{ schema: withSpec({ type: 'object', properties: members(24_500, () => text) }) }],
  },
  {
    name: 'fields with rules of their own',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(4900, (i) => ({
            type: 'string',
            minLength: i,
            maxLength: i + 9,
            description: `number ${i}`,
          })),
        }),
      },
    ],
  },
  {
    name: 'fields with too many rules',
    versions: () => [
      { schema: withSpec({ type: 'object', properties: members(14_000, (i) => ({ type: 'string', minLength: i })) }) },
    ],
  },
  {
    name: 'long descriptions',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(1000, () => ({ type: 'string', description: 'Words and words. '.repeat(160) })),
        }),
      },
    ],
  },
  {
    name: 'a long enum',
    versions: () => [{ schema: withSpec({ type: 'string', enum: many(95_000, (i) => `value-${i}`) }) }],
  },
  {
    name: 'enums of objects, one in another',
    versions: () => [
      {
        schema: withSpec(
          nested<object>(44, { type: 'string' }, (inner) => ({
            type: 'object',
            properties: { a: inner },
            enum: many(500, (i) => ({ a: i })),
          })),
        ),
      },
    ],
  },
  {
    name: 'a long required',
    versions: () => [{ schema: withSpec({ type: 'object', required: many(95_000, (i) => `field-${i}`) }) }],
  },
  {
    name: 'patterns',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(300, (i) => ({ type: 'string', pattern: `^[a-z]{0,63}(x|y|z){${i % 60},61}$` })),
        }),
      },
    ],
  },
  {
    name: 'patterns of classes',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(60, (i) => ({ type: 'string', pattern: `(\\p{L}|\\p{N}${i}){0,20}` })),
        }),
      },
    ],
  },
  {
    name: 'one pattern of the largest size',
    versions: () => [{ schema: withSpec({ type: 'string', pattern: `^${'([a-z]|[0-9]){0,15}'.repeat(20)}$` }) }],
  },
  {
    name: 'patterns that do not compile',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(5000, (i) => ({ type: 'string', pattern: `(${'a'.repeat(50)}${i}` })),
        }),
      },
    ],
  },
  {
    name: 'patterns too large to compile',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(500, (i) => ({ type: 'string', pattern: `((a{0,1000}){0,${i % 900}}b)` })),
        }),
      },
    ],
  },
  {
    name: 'deep nesting',
    versions: () => [
      {
        schema: withSpec(
          nested<object>(44, text, (inner) => ({
            type: 'object',
            properties: { a: inner, ...members(500, () => text) },
          })),
        ),
      },
    ],
  },
  {
    name: 'combinations in combinations',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: { a: text },
          allOf: [
            nested<object>(40, { properties: { a: { minLength: 1 } } }, (inner) => ({
              anyOf: [inner, ...many(300, () => ({ properties: { a: { maxLength: 5 } } }))],
            })),
          ],
        }),
      },
    ],
  },
  {
    name: 'combinations of undeclared fields',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: { a: text },
          anyOf: many(10_000, (i) => ({ required: [`f${i}`], properties: { [`f${i}`]: {} } })),
        }),
      },
    ],
  },
  {
    name: 'combinations on every level',
    versions: () => [
      {
        schema: withSpec(
          nested<object>(30, { type: 'object', properties: { a: text } }, (inner, level) => ({
            type: 'object',
            properties: { a: inner },
            allOf: [nested<object>(level, {}, (part) => ({ properties: { a: part } }))],
          })),
        ),
      },
    ],
  },
  { name: 'a large default', versions: () => [{ schema: withSpec(defaulted) }] },
  {
    name: 'defaults in defaults',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(2000, () => ({
            type: 'object',
            default: {},
            properties: members(6, () => ({ type: 'string', default: 'x' }), 'd'),
          })),
        }),
      },
    ],
  },
  {
    name: 'defaults of defaults, deep',
    versions: () => [
      {
        schema: withSpec(
          nested<object>(44, { type: 'array', items: text, default: many(800, () => 'x') }, (inner) => ({
            type: 'object',
            default: {},
            properties: { a: inner },
          })),
        ),
      },
    ],
  },
  {
    name: 'twenty versions of one schema',
    versions: () =>
      many(20, () => ({
        schema: withSpec({ type: 'object', properties: members(800, (i) => ({ type: 'string', maxLength: i + 1 })) }),
      })),
  },
  {
    name: 'sixty-four indexes',
    versions: () => [
      {
        schema: withSpec({ type: 'object', properties: { list: { type: 'array', items: { type: 'integer' } } } }),
        extra: { indexes: many(64, (i) => ({ name: `n${i}`, path: 'spec.list[*]', type: 'integer' })) },
      },
    ],
  },
  {
    name: 'validations',
    versions: () => [
      {
        schema: withSpec({
          type: 'object',
          properties: members(8000, () => ({
            type: 'string',
            'x-kubernetes-validations': [{ rule: 'self != ""', message: 'must not be empty' }],
          })),
        }),
      },
    ],
  },
  {
    name: 'faults everywhere',
    versions: () => [{ schema: withSpec({ type: 'object', properties: members(24_000, () => ({ type: 5 })) }) }],
  },
  {
    name: 'unknown fields everywhere',
    versions: () => [{ schema: withSpec(openObject), extra: members(90_000 / 2, (i) => i) }],
  },
  {
    name: 'long names',
    versions: () => [{ schema: withSpec({ type: 'object', properties: members(40, () => text, 'n'.repeat(70_000)) }) }],
  },
  {
    name: 'a forged status',
    versions: () => [{ schema: withSpec(openObject) }],
    alter: (whole) => ({ ...whole, status: forgedStatus() }),
  },
  {
    name: 'thousands of list-map keys',
    versions: () => [
      {
        schema: withSpec({
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': many(15_000, (i) => `k${i}`),
          items: { type: 'object', required: many(15_000, (i) => `k${i}`), properties: members(15_000, () => text) },
        }),
      },
    ],
  },
];

function forgedStatus(): Record<string, unknown> {
  return {
    conditions: many(4000, (i) => ({ type: `T${i}`, status: 'True', reason: 'R', message: 'M' })),
    storedVersions: many(20_000, () => 'v1'),
    acceptedNames: { plural: 'x', kind: 'X', shortNames: many(10_000, (i) => `s${i}`) },
  };
}

/** Definitions of maximum size: creating, changing and rewriting them; their documents; an object of each. */
export function definitionCases(): HoldCase[] {
  const cases = hostile.map(({ name, versions, alter = (whole) => whole }, position): HoldCase => {
    return {
      name: `definition: ${name}`,
      requests: (round) => {
        // Deleting one takes long, so the next round uses another.
        const plural = `defs${position}r${round}s`;
        const path = `${definitionsPath}/${plural}.${group}`;
        const whole = (): Record<string, unknown> => alter(definition(plural, versions()));
        return [
          put('POST', definitionsPath, whole()),
          ...(round === 0 ? [] : [put('PUT', path, labelled(whole())), put('PUT', path, labelled(whole()))]),
          ...uses(plural, path),
        ];
      },
    };
  });
  return [...cases, ...statusCases()];
}

function uses(plural: string, path: string): MeasuredRequest[] {
  return [
    { method: 'GET', path, headers: { Accept: 'application/yaml' } },
    { method: 'GET', path: `/openapi/v3/apis/${group}/v1` },
    { method: 'GET', path: '/docs/openapi/extension.json' },
    put('POST', collectionOf(plural), object(plural, 'one', { spec: { a: { b: 1 } } })),
    put('POST', collectionOf(plural), object(plural, 'two', { spec: { k1: 'text' } })),
    { method: 'GET', path: collectionOf(plural) },
    {
      method: 'PATCH',
      path,
      body: '{"metadata":{"annotations":{"touched":"yes"}}}',
      headers: { 'Content-Type': 'application/merge-patch+json' },
    },
    { method: 'DELETE', path },
  ];
}

function statusCases(): HoldCase[] {
  const plural = 'forgeries';
  const path = `${definitionsPath}/${plural}.${group}/status`;
  return [
    {
      name: 'definition: status forged by patch',
      prepare: async (server) => {
        await server.expect(put('POST', definitionsPath, definition(plural, [{ schema: withSpec(openObject) }])));
      },
      requests: () => [
        {
          method: 'PATCH',
          path,
          body: JSON.stringify({ status: forgedStatus() }),
          headers: { 'Content-Type': 'application/merge-patch+json' },
        },
      ],
    },
  ];
}

function labelled(whole: Record<string, unknown>): Record<string, unknown> {
  return { ...whole, metadata: { ...(whole['metadata'] as object), labels: { changed: 'yes' } } };
}

function put(method: string, path: string, body: unknown): MeasuredRequest {
  return { method, path, body: JSON.stringify(body) };
}
