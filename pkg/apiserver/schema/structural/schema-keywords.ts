import { fieldError, isJsonObject, type StatusCause } from '#pkg/apimachinery/index';
import { isJsonValue } from '../json-value.ts';
import { compilePattern } from '../leaf/linear-pattern.ts';

type Kind = 'boolean' | 'count' | 'number' | 'string' | 'strings' | 'values' | 'rules';

/** The keywords whose value is not made of schemas. Unknown ones are ignored, as Kubernetes drops them. */
const knownKeywords: readonly (readonly [name: string, kind: Kind])[] = [
  ['type', 'string'],
  ['format', 'string'],
  ['title', 'string'],
  ['description', 'string'],
  ['nullable', 'boolean'],
  ['enum', 'values'],
  ['pattern', 'string'],
  ['minLength', 'count'],
  ['maxLength', 'count'],
  ['minItems', 'count'],
  ['maxItems', 'count'],
  ['minProperties', 'count'],
  ['maxProperties', 'count'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['exclusiveMinimum', 'boolean'],
  ['exclusiveMaximum', 'boolean'],
  ['multipleOf', 'number'],
  ['uniqueItems', 'boolean'],
  ['required', 'strings'],
  ['x-kubernetes-preserve-unknown-fields', 'boolean'],
  ['x-kubernetes-embedded-resource', 'boolean'],
  ['x-kubernetes-int-or-string', 'boolean'],
  ['x-kubernetes-list-type', 'string'],
  ['x-kubernetes-list-map-keys', 'strings'],
  ['x-kubernetes-map-type', 'string'],
  ['x-kubernetes-validations', 'rules'],
];

const expectedValues: Record<Kind, { is: (value: unknown) => boolean; name: string }> = {
  boolean: { is: (value) => typeof value === 'boolean', name: 'boolean' },
  count: { is: (value) => Number.isSafeInteger(value) && Number(value) >= 0, name: 'integer, not negative' },
  number: { is: (value) => Number.isFinite(value), name: 'number' },
  string: { is: (value) => typeof value === 'string', name: 'string' },
  strings: {
    is: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
    name: 'array of strings',
  },
  values: { is: (value) => Array.isArray(value) && isJsonValue(value), name: 'array of JSON values' },
  rules: {
    is: (value) =>
      Array.isArray(value) && value.every((item) => isJsonObject(item) && typeof item['rule'] === 'string'),
    name: 'array of rules',
  },
};

/** OpenAPI keywords that Kubernetes' schemas do not support. */
const unsupportedKeywords = ['$ref', 'definitions', 'dependencies', 'patternProperties', 'additionalItems'] as const;

const schemaTypes = ['array', 'boolean', 'integer', 'number', 'object', 'string'] as const;

/** Errors in a node's own keywords, each checked by itself. */
export function keywordCauses(schema: Record<string, unknown>, path: string): StatusCause[] {
  const mistyped = knownKeywords.filter(
    ([name, kind]) => isSet(schema[name]) && !expectedValues[kind].is(schema[name]),
  );
  if (mistyped.length > 0) {
    return mistyped.map(([name, kind]) =>
      fieldError.typeInvalid(`${path}.${name}`, typeof schema[name], `must be of type ${expectedValues[kind].name}`),
    );
  }
  const causes = unsupportedKeywords
    .filter((name) => isSet(schema[name]))
    .map((name) => fieldError.forbidden(`${path}.${name}`, `${name} is not supported`));
  const type = schema['type'];
  if (type === 'null')
    causes.push(fieldError.forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  else if (type && !schemaTypes.some((known) => known === type))
    causes.push(fieldError.notSupported(`${path}.type`, type, schemaTypes));
  if (schema['uniqueItems'] === true) {
    causes.push(
      fieldError.forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  }
  if (Array.isArray(schema['enum']) && schema['enum'].length === 0)
    causes.push(fieldError.required(`${path}.enum`, 'must not be empty'));
  const factor = schema['multipleOf'];
  if (typeof factor === 'number' && factor <= 0)
    causes.push(fieldError.invalid(`${path}.multipleOf`, factor, 'must be greater than 0'));
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    causes.push(fieldError.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  const fault = patternFault(schema['pattern']);
  if (fault !== undefined)
    causes.push(
      fieldError.invalid(
        `${path}.pattern`,
        schema['pattern'],
        `must be a valid regular expression, but isn't: ${fault}`,
      ),
    );
  return causes;
}

/** Null counts as absent, as in Go's decoder. */
export function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function patternFault(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return undefined;
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'not a regular expression';
  }
}
