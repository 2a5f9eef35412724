import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '../../../../pkg/apimachinery/index.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';

export interface ValueOptions {
  /** How likely a field is there. */
  density: number;
  /** How likely a value breaks a rule: an unknown field, a null, an item twice. */
  mischief: number;
}

/** A value of the schema, of few possible ones, so that managers meet in them. */
export function randomValue(random: SeededRandom, schema: JsonSchema, options: ValueOptions): JsonValue {
  if (schema.nullable === true && random.chance(0.2)) return null;
  if (random.chance(options.mischief / 3)) return null;
  if (schema['x-kubernetes-int-or-string'] === true) return random.pick<JsonValue>([1, 2, 'x']);
  switch (schema.type) {
    case 'string':
      return schema.format === 'date' ? random.pick(['2026-01-01', '2026-01-02']) : random.pick(['x', 'y', '<&']);
    case 'integer':
      return random.pick([1, 2, 30]);
    case 'number':
      return random.pick([1, 1.5, 1000000]);
    case 'boolean':
      return random.chance(0.5);
    case 'array':
      return randomList(random, schema, options);
    case 'object':
      return randomObject(random, schema, options);
    default:
      return randomFree(random, 0);
  }
}

function randomList(random: SeededRandom, schema: JsonSchema, options: ValueOptions): JsonValue[] {
  const items = random.some(3, () => randomValue(random, schema.items!, options));
  const isUnique = schema['x-kubernetes-list-type'] === 'set' || schema['x-kubernetes-list-type'] === 'map';
  if (!isUnique || random.chance(options.mischief)) return items;
  const seen = new Set<string>();
  return items.filter((item) => {
    const key = itemKey(item, schema);
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

function itemKey(item: JsonValue, schema: JsonSchema): string {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (keys === undefined || !isJsonObject(item)) return JSON.stringify(item);
  return JSON.stringify(keys.map((key) => item[key] ?? schema.items?.properties?.[key]?.default));
}

function randomObject(random: SeededRandom, schema: JsonSchema, options: ValueOptions): JsonObject {
  const object: JsonObject = {};
  if (schema['x-kubernetes-embedded-resource'] === true)
    Object.assign(object, { apiVersion: 'v1', kind: 'Part', metadata: { name: random.pick(['x', 'y']) } });
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) === true && !random.chance(options.mischief / 3);
    if (isRequired || random.chance(options.density)) object[name] = randomValue(random, property, options);
  }
  if (typeof schema.additionalProperties === 'object') {
    for (const name of ['x', 'y', 'z'])
      if (random.chance(options.density)) object[name] = randomValue(random, schema.additionalProperties, options);
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === true && random.chance(0.7))
    object['free'] = randomFree(random, 0);
  if (random.chance(options.mischief / 5)) object['unknown'] = 1;
  return object;
}

function randomFree(random: SeededRandom, depth: number): JsonValue {
  if (depth > 2) return random.pick<JsonValue>([1, 'x', true, null]);
  return random.one<JsonValue>(
    () => random.pick<JsonValue>([1, 'x', true, null]),
    () => random.some(2, () => randomFree(random, depth + 1)),
    () => Object.fromEntries(random.some(2, () => [random.pick(['x', 'y', 'z']), randomFree(random, depth + 1)])),
    () => Object.fromEntries(random.some(2, () => [random.pick(['x', 'y', 'z']), randomFree(random, depth + 1)])),
  );
}

/** Labels, annotations, finalizers and owners; `name` is not in it. */
export function randomMetadata(random: SeededRandom): JsonObject {
  const metadata: JsonObject = {};
  const texts = () => Object.fromEntries(random.some(2, () => [random.pick(['x', 'y/z']), random.pick(['1', '2'])]));
  if (random.chance(0.4)) metadata['labels'] = texts();
  if (random.chance(0.3)) metadata['annotations'] = texts();
  if (random.chance(0.2))
    metadata['finalizers'] = [...new Set(random.some(2, () => `example.com/${random.pick(['a', 'b'])}`))];
  if (random.chance(0.2))
    metadata['ownerReferences'] = random
      .shuffled(['1', '2'])
      .slice(random.below(2))
      .map((uid) => ({ apiVersion: 'v1', kind: 'Owner', name: random.pick(['x', 'y']), uid }));
  return metadata;
}
