import { fieldError, isJsonObject, type JsonSchema, type SlicedWork, type StatusCause } from '#pkg/apimachinery/index';
import { propertySchema } from '../child-schema.ts';
import { isSet } from './schema-keywords.ts';

/** Keywords that a combination must not have: it only restricts values, and the node around it declares them. */
const forbiddenInCombinations = [
  'type',
  'title',
  'description',
  'default',
  'nullable',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const;

/** Limit of causes for one node: more are of no use, and a schema may lack thousands. */
const maxCauses = 100;

export interface Branch {
  schema: unknown;
  path: string;
  /** Why this is not a schema. */
  fault?: string;
  /** Whether it is one of the two types of an int-or-string, where a type is allowed. */
  typed: boolean;
  /** Whether it applies to the same value as the node, not to a field or an item. */
  same: boolean;
}

export interface BranchOptions {
  /** Whether to include fields and items, which inside a combination are parts of it. */
  nested?: boolean;
  /** Whether the node is an int-or-string: generators add `anyOf: [{type: integer}, {type: string}]` to it. */
  intOrString?: boolean;
}

/** The parts of allOf, anyOf, oneOf and not. */
export function combinationBranches(
  schema: JsonSchema,
  path: string,
  { nested = false, intOrString = false }: BranchOptions = {},
): Branch[] {
  const branches: Branch[] = [];
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const parts: unknown = schema[keyword];
    const at = `${path}.${keyword}`;
    if (!isSet(parts)) continue;
    if (!Array.isArray(parts))
      branches.push({ schema: parts, path: at, fault: 'must be an array of schemas', typed: false, same: true });
    else {
      const typed = intOrString && keyword === 'anyOf' && isIntOrString(parts);
      parts.forEach((part: unknown, index) =>
        branches.push({ schema: part, path: `${at}[${index}]`, typed, same: true }),
      );
    }
  }
  if (isSet(schema.not)) branches.push({ schema: schema.not, path: `${path}.not`, typed: false, same: true });
  if (!nested) return branches;
  if (isSet(schema.items)) branches.push({ schema: schema.items, path: `${path}.items`, typed: false, same: false });
  const properties: unknown = schema.properties;
  if (isJsonObject(properties)) {
    for (const [name, part] of Object.entries(properties)) {
      branches.push({ schema: part, path: `${path}.properties[${name.slice(0, 320)}]`, typed: false, same: false });
    }
  } else if (isSet(properties)) {
    branches.push({
      schema: properties,
      path: `${path}.properties`,
      fault: 'must be an object of schemas',
      typed: false,
      same: false,
    });
  }
  return branches;
}

export function nestedCauses(schema: Record<string, unknown>, path: string, typed: boolean): StatusCause[] {
  const present = forbiddenInCombinations.filter(
    (keyword) => !(typed && keyword === 'type') && !isEmpty(keyword, schema[keyword]),
  );
  return present.map((keyword) => fieldError.forbidden(`${path}.${keyword}`, 'must be empty to be structural'));
}

/** Empty as in a Go struct: absent, '' or false. For `additionalProperties` and `default`, '' and false are values. */
function isEmpty(keyword: (typeof forbiddenInCombinations)[number], value: unknown): boolean {
  return (
    !isSet(value) || ((value === '' || value === false) && keyword !== 'default' && keyword !== 'additionalProperties')
  );
}

/** Every field and item in a combination must be declared by the node around it. */
export function* completenessCauses(schema: JsonSchema, path: string): SlicedWork<StatusCause[]> {
  const causes: StatusCause[] = [];
  for (const branch of combinationBranches(schema, path))
    causes.push(...(yield* undeclared(branch.schema as JsonSchema, schema, { path, branch: branch.path })));
  return causes.slice(0, maxCauses);
}

function* undeclared(
  part: JsonSchema,
  node: JsonSchema,
  at: { path: string; branch: string },
): SlicedWork<StatusCause[]> {
  yield;
  const causes: StatusCause[] = [];
  for (const inner of combinationBranches(part, at.branch))
    causes.push(...(yield* undeclared(inner.schema as JsonSchema, node, { path: at.path, branch: inner.path })));
  if (part.items) {
    const inner = { path: `${at.path}.items`, branch: `${at.branch}.items` };
    if (node.items) causes.push(...(yield* undeclared(part.items, node.items, inner)));
    else causes.push(fieldError.required(inner.path, `because it is defined in ${inner.branch}`));
  }
  for (const [name, value] of Object.entries(part.properties ?? {})) {
    const inner = { path: `${at.path}.properties[${name}]`, branch: `${at.branch}.properties[${name}]` };
    const additional = node.additionalProperties;
    const declared = propertySchema(node, name) ?? (typeof additional === 'object' ? additional : undefined);
    if (declared) causes.push(...(yield* undeclared(value, declared, inner)));
    else if (additional !== true)
      causes.push(fieldError.required(inner.path, `because it is defined in ${inner.branch}`));
  }
  return causes.slice(0, maxCauses);
}

function isIntOrString(parts: unknown[]): boolean {
  const types = parts.map((part) => (isJsonObject(part) && Object.keys(part).length === 1 ? part['type'] : undefined));
  return types.length === 2 && types[0] === 'integer' && types[1] === 'string';
}
