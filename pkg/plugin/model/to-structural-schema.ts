import type { TSchema } from 'typebox';
import { isJsonObject, isPrototypeKey, type JsonSchema } from '#pkg/apimachinery/index';
import { constraintsOf } from './convert-constraints.ts';
import { convertUnion } from './convert-union.ts';
import { enumSchema, withNull } from './enum-schema.ts';
import { jsonAt } from './to-plain-json.ts';
import { childOf, newSchemaError } from './schema-error.ts';

/** The maximum depth of a definition. */
const maxDepth = 100;

/** Keywords that are allowed for any value. */
const annotations = ['nullable', 'default', 'title', 'description', 'example', 'examples', 'externalDocs'];

/** Keywords that are handled here; `constraintsOf` handles the others. */
const structure: ReadonlySet<string> = new Set([
  ...annotations,
  'type',
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
  'items',
  'uniqueItems',
  'anyOf',
  'const',
  'enum',
]);

const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);

/** The keys of `Type.Record(Type.String(), ...)`. */
const anyKey = '^.*$';

/**
 * Converts a TypeBox schema to the structural dialect of definitions. Optional properties are not required, unions of
 * literals become an enum, unions with null `nullable`, records maps; unknown values are preserved.
 * @throws TypeError that names the path, for a schema that the dialect cannot express
 */
export function toStructuralSchema(schema: TSchema, path: string): JsonSchema {
  return convertNode(schema, path, 1);
}

function convertNode(node: unknown, path: string, depth: number): JsonSchema {
  if (!isJsonObject(node)) throw newSchemaError(path, 'is no schema');
  if (depth > maxDepth) throw newSchemaError(path, `is nested deeper than ${maxDepth} levels`);
  if (Object.hasOwn(node, '~refine')) throw newSchemaError(path, 'has a refinement: no function reaches the server');
  if (Object.hasOwn(node, '~codec'))
    throw newSchemaError(path, 'has a codec: objects are what JSON says, in the database too');
  const convert = (inner: unknown, innerPath: string): JsonSchema => convertNode(inner, innerPath, depth + 1);
  const shape = shapeOf(node, path, convert);
  const constraints = constraintsOf(node, path, structure);
  return withNull({ ...shape, ...constraints, ...documentation(node, path) }, node['nullable'] === true);
}

type Convert = (inner: unknown, path: string) => JsonSchema;

function shapeOf(node: Record<string, unknown>, path: string, convert: Convert): JsonSchema {
  const { type } = node;
  if (Array.isArray(node['anyOf'])) return convertUnion(node, path, convert);
  if (Object.hasOwn(node, 'const')) return enumSchema([node['const']], path);
  if (Array.isArray(node['enum']) && type === undefined) return enumSchema(node['enum'], path);
  const allowed = Array.isArray(node['enum']) ? { enum: node['enum'].map((value) => jsonAt(value, path)) } : {};
  if (type === 'object') return { ...objectShape(node, path, convert), ...allowed };
  if (type === 'array') return { ...listShape(node, path, convert), ...allowed };
  if (type !== undefined) {
    if (!types.has(type))
      throw newSchemaError(path, `is of type ${JSON.stringify(type)}, which objects of a model cannot hold`);
    return { type: type as NonNullable<JsonSchema['type']>, ...allowed };
  }
  if (node['x-kubernetes-int-or-string'] === true) return {};
  // Null is a valid value here; without `nullable` the server would drop it.
  if (allowsAnyValue(node)) return { 'x-kubernetes-preserve-unknown-fields': true, nullable: true };
  throw newSchemaError(path, 'has no type');
}

/** Whether it allows any value, as `Type.Unknown()` and `Type.Any()` do. */
function allowsAnyValue(node: Record<string, unknown>): boolean {
  return Object.keys(node).every((key) => key === 'x-kubernetes-preserve-unknown-fields' || annotations.includes(key));
}

function listShape({ items, uniqueItems }: Record<string, unknown>, path: string, convert: Convert): JsonSchema {
  if (Array.isArray(items)) throw newSchemaError(path, 'is a tuple; a list has one schema for all its items');
  const list: JsonSchema = { type: 'array', items: convert(items, `${path}[*]`) };
  if (uniqueItems !== true) return list;
  // The dialect expresses unique items as a list type, for plain values only.
  const { type, nullable } = list.items ?? {};
  if (type === 'object' || type === 'array' || nullable === true)
    throw newSchemaError(
      path,
      'has uniqueItems; the dialect has sets of plain values, and lists by key (x-kubernetes-list-type)',
    );
  return { ...list, 'x-kubernetes-list-type': 'set' };
}

function objectShape(node: Record<string, unknown>, path: string, convert: Convert): JsonSchema {
  const properties = isJsonObject(node['properties']) ? Object.entries(node['properties']) : [];
  const values = mapValues(node, path);
  if (values !== undefined) {
    if (properties.length > 0)
      throw newSchemaError(path, 'has properties and further ones with a schema; the dialect has either');
    return { type: 'object', additionalProperties: convert(values, `${path}[*]`) };
  }
  const shape: JsonSchema = { type: 'object' };
  if (properties.length > 0)
    shape.properties = Object.fromEntries(
      properties.map(([name, inner]) => [checkedName(name, path), convert(inner, childOf(path, name))]),
    );
  const required = node['required'];
  if (Array.isArray(required) && required.length > 0) shape.required = required.map(String);
  if (node['additionalProperties'] === true) shape['x-kubernetes-preserve-unknown-fields'] = true;
  return shape;
}

/** The schema of a map's values; undefined if the object is not a map. */
function mapValues(
  { additionalProperties: additional, patternProperties }: Record<string, unknown>,
  path: string,
): unknown {
  if (additional === false)
    throw newSchemaError(
      path,
      'forbids further properties; leave additionalProperties: false out, unknown fields are dropped or refused by fieldValidation',
    );
  if (patternProperties === undefined) return additional === true ? undefined : additional;
  const patterns = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  if (patterns.length !== 1 || patterns[0] !== anyKey || additional !== undefined)
    throw newSchemaError(
      path,
      'is a map with rules for its keys; the dialect has maps of any keys, Type.Record(Type.String(), ...)',
    );
  return (patternProperties as Record<string, unknown>)[anyKey];
}

function checkedName(name: string, path: string): string {
  if (isPrototypeKey(name)) throw newSchemaError(childOf(path, name), 'has a name that objects of a model cannot have');
  return name;
}

function documentation(node: Record<string, unknown>, path: string): JsonSchema {
  const said: JsonSchema = {};
  for (const name of ['title', 'description'] as const) {
    if (typeof node[name] === 'string') said[name] = node[name];
  }
  const example = node['example'] ?? (Array.isArray(node['examples']) ? node['examples'][0] : undefined);
  if (example !== undefined) said.example = jsonAt(example, path);
  if (node['default'] !== undefined) said.default = jsonAt(node['default'], path);
  if (node['externalDocs'] !== undefined)
    said.externalDocs = jsonAt(node['externalDocs'], path) as NonNullable<JsonSchema['externalDocs']>;
  return said;
}
