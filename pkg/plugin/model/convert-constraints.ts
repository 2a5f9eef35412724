import { RE2JS } from 're2js';
import type { JsonSchema } from '#pkg/apimachinery/index';
import { jsonAt } from './to-plain-json.ts';
import { newSchemaError } from './schema-error.ts';

/** Keywords that both dialects share. */
const same: ReadonlySet<string> = new Set([
  'format',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
]);

/** Keywords that are translated below. */
const translated: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'pattern',
]);

/**
 * The constraints of one node, without its children. @throws TypeError for a keyword that is neither a constraint of
 * the dialect nor in `known`
 */
export function constraintsOf(node: Record<string, unknown>, path: string, known: ReadonlySet<string>): JsonSchema {
  const rules: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(node)) {
    if (value === undefined || known.has(keyword) || translated.has(keyword)) continue;
    if (!same.has(keyword)) throw newSchemaError(path, `has ${keyword}, which a definition cannot say`);
    rules[keyword] = jsonAt(value, path);
  }
  return {
    ...(rules as JsonSchema),
    ...bound(node, 'minimum', 'exclusiveMinimum', path),
    ...bound(node, 'maximum', 'exclusiveMaximum', path),
    ...otherRules(node, path),
  };
}

function otherRules({ multipleOf, pattern }: Record<string, unknown>, path: string): JsonSchema {
  return {
    ...(multipleOf === undefined ? {} : { multipleOf: numberAt(multipleOf, path) }),
    ...(pattern === undefined ? {} : { pattern: patternAt(pattern, path) }),
  };
}

/**
 * A numeric `exclusiveMinimum` of JSON Schema becomes `minimum` with a boolean in the dialect; of two bounds the
 * narrower one counts.
 */
function bound(
  node: Record<string, unknown>,
  name: 'minimum' | 'maximum',
  exclusive: 'exclusiveMinimum' | 'exclusiveMaximum',
  path: string,
): JsonSchema {
  const inclusive = node[name] === undefined ? undefined : numberAt(node[name], path);
  const mark = node[exclusive];
  if (mark === undefined || typeof mark === 'boolean')
    return inclusive === undefined ? {} : { [name]: inclusive, ...(mark === true ? { [exclusive]: true } : {}) };
  const edge = numberAt(mark, path);
  const inclusiveIsNarrower = inclusive !== undefined && (name === 'minimum' ? inclusive > edge : inclusive < edge);
  return inclusiveIsNarrower ? { [name]: inclusive } : { [name]: edge, [exclusive]: true };
}

function numberAt(value: unknown, path: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (
    typeof number !== 'number' ||
    !Number.isFinite(number) ||
    (typeof value === 'bigint' && BigInt(number) !== value)
  ) {
    throw newSchemaError(path, `has a bound that is no number JSON can say: ${String(value)}`);
  }
  return number;
}

/** The server matches with RE2, which has neither look-around nor back references. */
function patternAt(pattern: unknown, path: string): string {
  const source = pattern instanceof RegExp ? pattern.source : String(pattern);
  if (pattern instanceof RegExp && /[^gu]/.test(pattern.flags))
    throw newSchemaError(path, `has a pattern with flags (${pattern.flags}); write them into the pattern, as (?i)`);
  try {
    RE2JS.compile(source);
  } catch (error) {
    throw new TypeError(`${path} has a pattern that is not RE2: ${error instanceof Error ? error.message : source}`, {
      cause: error,
    });
  }
  return source;
}
