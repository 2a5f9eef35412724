import {
  fieldError,
  maxIndexes,
  type IndexDefinition,
  type JsonSchema,
  type StatusCause,
} from '#pkg/apimachinery/index';
import type { DefinitionVersion } from './definition.ts';
import { versionIndexes, type VersionIndex } from './definition-indexes.ts';
import { validateDeclaredIndexes } from './validate-indexes.ts';
import { validateVersion } from './validate-version.ts';

/**
 * Checks that a schema is structural: one cause per violation. The schema comes from a client and may be any object.
 */
export type StructuralSchemaCheck = (schema: JsonSchema, fieldPath: string) => StatusCause[];

/** Checks the versions one by one, then their common rules. */
export function validateVersions(
  versions: readonly DefinitionVersion[],
  validateStructuralSchema: StructuralSchemaCheck,
): StatusCause[] {
  const field = 'spec.versions';
  if (versions.length === 0) return [fieldError.required(field, 'must have at least one version')];
  const names = versions.map(({ name }) => name);
  const causes = versions.flatMap((version, index) => {
    const schema = version.schema?.openAPIV3Schema;
    const schemaField = `${field}[${index}].schema.openAPIV3Schema`;
    return [
      ...validateVersion(version, `${field}[${index}]`),
      ...(schema === undefined
        ? [fieldError.required(schemaField, 'schemas are required')]
        : validateStructuralSchema(schema, schemaField)),
      ...validateDeclaredIndexes(version, `${field}[${index}]`),
    ];
  });
  if (new Set(names).size < names.length)
    causes.push(fieldError.invalid(field, names, 'must contain unique version names'));
  if (versions.filter(({ storage }) => storage).length !== 1) {
    causes.push(fieldError.invalid(field, names, 'must have exactly one version marked as storage version'));
  }
  return [...causes, ...validateSharedIndexes(versions), ...validateSharedKeys(versions)];
}

/** Keys are always computed from the storage version, so there is only one script. */
function validateSharedKeys(versions: readonly DefinitionVersion[]): StatusCause[] {
  const texts = versions.flatMap(({ indexKeys }) => (indexKeys === undefined ? [] : [indexKeys]));
  const position = versions.findIndex(({ indexKeys }) => indexKeys !== undefined && indexKeys !== texts[0]);
  return position === -1
    ? []
    : [fieldError.forbidden(`spec.versions[${position}].indexKeys`, 'must be the same in every version that has it')];
}

/** Every version reads the same stored objects, so an index has one definition in all versions that have it. */
function validateSharedIndexes(versions: readonly DefinitionVersion[]): StatusCause[] {
  const first = new Map<string, VersionIndex & { version: string }>();
  const causes: StatusCause[] = [];
  for (const [position, version] of versions.entries()) {
    for (const each of versionIndexes(version)) {
      const known = first.get(each.index.name);
      if (known === undefined) first.set(each.index.name, { ...each, version: version.name });
      // A duplicate name within a version is reported there.
      else if (!areCompatible(known, each) && (known.version !== version.name || known.declared !== each.declared)) {
        causes.push(
          fieldError.invalid(
            `spec.versions[${position}].${each.declared ? 'indexes' : 'selectableFields'}`,
            each.index.name,
            difference(known),
          ),
        );
      }
      // From here on the declared index represents the name, because it is stricter.
      if (known?.declared === false && each.declared) first.set(each.index.name, { ...each, version: version.name });
    }
  }
  if (first.size > maxIndexes)
    causes.push(
      fieldError.invalid('spec.versions', first.size, `may have at most ${maxIndexes} different indexes in all`),
    );
  return causes;
}

/** A declared index may refine a selectable field (another type, unique, not nullable), but must have the same path. */
function areCompatible(a: VersionIndex, b: VersionIndex): boolean {
  if (a.declared !== b.declared) return a.index.path === b.index.path;
  const keys = ['path', 'type', 'multi', 'unique', 'nullable'] satisfies (keyof IndexDefinition)[];
  return (
    a.index.computed?.function === b.index.computed?.function && keys.every((key) => a.index[key] === b.index[key])
  );
}

function difference({ index, version, declared }: VersionIndex & { version: string }): string {
  const { path, computed, type, multi, unique, nullable } = index;
  const kind = declared ? 'an index' : 'a selectable field';
  return `must be the same in every version: ${version} has ${kind} of that name with ${computed === undefined ? `path ${path}` : `key ${computed.function}`}, type ${type}, multi ${multi}, unique ${unique}, nullable ${nullable}`;
}
