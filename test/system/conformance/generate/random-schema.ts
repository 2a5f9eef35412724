import type { JsonObject, JsonSchema } from '../../../../pkg/apimachinery/index.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const maxDepth = 3;

/** A structural schema of what a definition may say of lists, maps, defaults, nulls and unknown fields. */
export function randomStruct(random: SeededRandom, depth: number): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const count = random.between(1, depth === 0 ? 5 : 3);
  for (const name of random.shuffled(names).slice(0, count)) properties[name] = randomSchema(random, depth + 1);
  return { type: 'object', properties };
}

function randomSchema(random: SeededRandom, depth: number): JsonSchema {
  if (depth > maxDepth) return randomScalar(random);
  return random.one<JsonSchema>(
    () => randomScalar(random),
    () => randomScalar(random),
    () => randomStruct(random, depth),
    () => ({ ...randomStruct(random, depth), 'x-kubernetes-map-type': random.pick(['atomic', 'granular'] as const) }),
    () => ({ ...randomStruct(random, depth), nullable: true }),
    () => ({ ...randomStruct(random, depth), 'x-kubernetes-preserve-unknown-fields': true }),
    () => ({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
    () => ({ 'x-kubernetes-preserve-unknown-fields': true }),
    () => ({ type: 'object', additionalProperties: randomSchema(random, depth + 1) }),
    () => ({
      type: 'object',
      additionalProperties: randomScalar(random),
      'x-kubernetes-map-type': random.pick(['atomic', 'granular'] as const),
    }),
    () => ({ type: 'array', items: randomSchema(random, depth + 1) }),
    () => ({ type: 'array', items: randomScalar(random), 'x-kubernetes-list-type': 'atomic' }),
    () => ({ type: 'array', items: randomItem(random), 'x-kubernetes-list-type': 'set' }),
    () => randomKeyedList(random, depth),
    () => randomKeyedList(random, depth),
    () => ({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
  );
}

function randomScalar(random: SeededRandom): JsonSchema {
  return random.one<JsonSchema>(
    () => ({ type: 'string' }),
    () => ({ type: 'string', default: 'x' }),
    () => ({ type: 'string', nullable: true }),
    () => ({ type: 'string', format: 'date' }),
    () => ({ type: 'integer' }),
    () => ({ type: 'integer', default: 1 }),
    () => ({ type: 'number' }),
    () => ({ type: 'boolean' }),
    () => ({ 'x-kubernetes-int-or-string': true }),
  );
}

function randomItem(random: SeededRandom): JsonSchema {
  return { type: random.pick(['string', 'integer', 'number', 'boolean'] as const) };
}

function randomKeyedList(random: SeededRandom, depth: number): JsonSchema {
  const item = randomStruct(random, depth);
  const properties: Record<string, JsonSchema> = { ...item.properties, k: randomItem(random) };
  const keys = ['k'];
  const required = ['k'];
  if (random.chance(0.4)) {
    properties['p'] = random.one<JsonSchema>(
      () => ({ type: 'string', default: 'x' }),
      () => ({ type: 'integer', default: 1 }),
    );
    keys.push('p');
  }
  return {
    type: 'array',
    items: { type: 'object', properties, required },
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': random.shuffled(keys),
  };
}

/** The schema with some lists and maps atomic that were not. */
export function makeSomeAtomic(random: SeededRandom, schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties } = schema;
  const result: JsonSchema = { ...schema };
  if (properties !== undefined)
    result.properties = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, makeSomeAtomic(random, property)]),
    );
  if (items !== undefined) result.items = makeSomeAtomic(random, items);
  if (typeof additionalProperties === 'object')
    result.additionalProperties = makeSomeAtomic(random, additionalProperties);
  if (!random.chance(0.3)) return result;
  if (schema.type === 'array') {
    result['x-kubernetes-list-type'] = 'atomic';
    delete result['x-kubernetes-list-map-keys'];
  } else if (schema.type === 'object') result['x-kubernetes-map-type'] = 'atomic';
  return result;
}

export interface ModelDefinitionOptions {
  name: string;
  /** The schema of spec and status by version; the first one is stored. */
  versions: Readonly<Record<string, JsonSchema>>;
  hasStatus: boolean;
  /** The schemas have `replicas`. */
  hasScale: boolean;
  /** The default of a field of its own, by which one sees which schema is served. */
  epoch: number;
}

export const modelKind = (name: string): string => `K${name}`;
export const conformanceGroup = 'conformance.example.com';

/** The schema with the field that `/scale` shows. */
export function withReplicas(random: SeededRandom, schema: JsonSchema): JsonSchema {
  const replicas: JsonSchema = { type: 'integer', ...(random.chance(0.3) ? { default: 1 } : {}) };
  return { ...schema, properties: { ...schema.properties, replicas } };
}

export const scalePaths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

export function newModelDefinition({ name, versions, hasStatus, hasScale, epoch }: ModelDefinitionOptions): JsonObject {
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${name}s.${conformanceGroup}` },
    spec: {
      group: conformanceGroup,
      scope: 'Namespaced',
      names: { plural: `${name}s`, singular: name, kind: modelKind(name) },
      versions: Object.entries(versions).map(([version, schema], index) => ({
        name: version,
        served: true,
        storage: index === 0,
        subresources: { ...(hasStatus ? { status: {} } : {}), ...(hasScale ? { scale: scalePaths } : {}) },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              epoch: { type: 'integer', default: epoch },
              spec: schema,
              status: schema,
            },
          },
        },
      })),
    },
  };
  return definition as unknown as JsonObject;
}
