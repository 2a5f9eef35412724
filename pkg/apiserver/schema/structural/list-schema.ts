import { fieldError, type JsonSchema, type StatusCause } from '#pkg/apimachinery/index';
import { propertySchema } from '../child-schema.ts';

const scalarTypes: ReadonlySet<string | undefined> = new Set(['boolean', 'integer', 'number', 'string']);

/** Errors in `x-kubernetes-list-type`, `-list-map-keys` and `-map-type`. Source: apiextensions-apiserver, listtype. */
export function listSchemaCauses(schema: JsonSchema, path: string): StatusCause[] {
  const listType = schema['x-kubernetes-list-type'] ?? undefined;
  const mapType = schema['x-kubernetes-map-type'] ?? undefined;
  const causes: StatusCause[] = [];
  if (mapType !== undefined) {
    if (!['atomic', 'granular'].includes(mapType))
      causes.push(fieldError.notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
    if (schema.type !== 'object')
      causes.push(
        fieldError.invalid(`${path}.type`, schema.type ?? '', 'must be object if x-kubernetes-map-type is specified'),
      );
  }
  if (listType !== undefined) {
    if (!['atomic', 'set', 'map'].includes(listType)) {
      causes.push(fieldError.notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']));
    }
    if (schema.type !== 'array')
      causes.push(
        fieldError.invalid(`${path}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'),
      );
  }
  if (listType === 'map') causes.push(...mapCauses(schema, path));
  else if ((schema['x-kubernetes-list-map-keys'] ?? []).length > 0) {
    causes.push(
      fieldError.forbidden(
        `${path}.x-kubernetes-list-map-keys`,
        'must be undefined if x-kubernetes-list-type is not map',
      ),
    );
  }
  if (listType === 'set' && schema.items) causes.push(...setCauses(schema.items, path));
  return causes;
}

function setCauses(items: JsonSchema, path: string): StatusCause[] {
  const causes = nullableCauses(items, path);
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    causes.push(
      fieldError.invalid(
        `${path}.items.x-kubernetes-map-type`,
        items['x-kubernetes-map-type'] ?? '',
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
  }
  if (items.type === 'array' && !['atomic', ''].includes(items['x-kubernetes-list-type'] ?? '')) {
    causes.push(
      fieldError.invalid(
        `${path}.items.x-kubernetes-list-type`,
        items['x-kubernetes-list-type'],
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
  }
  return causes;
}

function mapCauses(schema: JsonSchema, path: string): StatusCause[] {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const keysPath = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) return [fieldError.required(keysPath, 'must not be empty if x-kubernetes-list-type is map')];
  const items = schema.items;
  if (!items) return [];
  if (items.type !== 'object')
    return [
      fieldError.invalid(
        `${path}.items.type`,
        items.type ?? '',
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    ];
  const causes = nullableCauses(items, path);
  const required = new Set(items.required ?? []);
  const seen = new Set<string>();
  keys.forEach((key, index) => {
    const property = propertySchema(items, key);
    const propertyPath = `${path}.items.properties[${key}]`;
    if (seen.has(key)) causes.push(fieldError.duplicate(`${keysPath}[${index}]`, key));
    else if (property === undefined)
      causes.push(fieldError.invalid(`${keysPath}[${index}]`, key, 'entries must all be names of item properties'));
    else if (!scalarTypes.has(property.type)) {
      causes.push(
        fieldError.invalid(
          `${propertyPath}.type`,
          property.type ?? '',
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      );
    } else if (property.nullable) {
      causes.push(
        fieldError.forbidden(
          `${propertyPath}.nullable`,
          'this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
        ),
      );
    } else if ((property.default ?? undefined) === undefined && !required.has(key)) {
      causes.push(
        fieldError.required(
          `${propertyPath}.default`,
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      );
    }
    seen.add(key);
  });
  return causes;
}

function nullableCauses(items: JsonSchema, path: string): StatusCause[] {
  if (!items.nullable) return [];
  return [
    fieldError.forbidden(`${path}.items.nullable`, 'cannot be nullable when x-kubernetes-list-type is set or map'),
  ];
}
