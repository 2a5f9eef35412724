import {
  computedKey,
  isComputedIndex,
  parseIndexPath,
  type IndexDefinition,
  type JsonSchema,
} from '#pkg/apimachinery/index';
import type { DeclaredIndex, DefinitionVersion } from './definition.ts';
import { findSelectableField } from './selectable-field.ts';

/** An index of one version: declared, or implied by a selectable field. */
export interface VersionIndex {
  index: IndexDefinition;
  declared: boolean;
}

/**
 * An index with its defaults: multi if the path contains `[*]`, not unique, nullable. A leading dot of the path is
 * dropped.
 * @param script the version's `indexKeys`
 */
export function indexFromDeclaration(
  { name, path = '', key, type, multi, unique = false, nullable = true }: DeclaredIndex,
  script = '',
): IndexDefinition {
  if (key === undefined)
    return { name, path: path.replace(/^\.(?!\.)/, ''), type, multi: multi ?? path.includes('[*]'), unique, nullable };
  return {
    name,
    path: '',
    computed: computedKey(key, script, { type, multi: multi ?? false }),
    type,
    multi: multi ?? false,
    unique,
    nullable,
  };
}

/**
 * The indexes of one version: those it declares, then one for each selectable field, named by its path without the
 * leading dot. A selectable field without a target yields none; if both have the same name, both are listed.
 */
export function versionIndexes(version: DefinitionVersion): VersionIndex[] {
  const declared = (version.indexes ?? []).map((each) => ({
    index: indexFromDeclaration(each, version.indexKeys),
    declared: true,
  }));
  const selectable = (version.selectableFields ?? []).flatMap(({ jsonPath }) => {
    const target = findSelectableField(jsonPath, version.schema?.openAPIV3Schema);
    return 'problem' in target ? [] : [{ index: target.index, declared: false }];
  });
  return [...declared, ...selectable];
}

/**
 * The indexes of all versions, one per name; a declared index takes precedence over the selectable field of its name.
 */
export function mergedIndexes(versions: readonly DefinitionVersion[]): IndexDefinition[] {
  const merged = new Map<string, VersionIndex>();
  for (const each of versions.flatMap(versionIndexes)) {
    const known = merged.get(each.index.name);
    if (known === undefined || (each.declared && !known.declared)) merged.set(each.index.name, each);
  }
  return [...merged.values()].map(({ index }) => index);
}

/** The indexes with the schema's defaults for their fields. */
export function withSchemaDefaults(
  indexes: readonly IndexDefinition[],
  schema: JsonSchema | undefined,
): IndexDefinition[] {
  return indexes.map((index) => {
    const value = isComputedIndex(index) ? undefined : defaultAt(index.path, schema);
    return value === undefined ? index : { ...index, default: value };
  });
}

function defaultAt(path: string, schema: JsonSchema | undefined): string | number | boolean | undefined {
  const parsed = parseIndexPath(path);
  let current = 'segments' in parsed ? schema : undefined;
  for (const segment of 'segments' in parsed ? parsed.segments : []) {
    if (current === undefined) return undefined;
    current = 'everyItem' in segment ? current.items : (current.properties?.[segment.property] ?? valueSchema(current));
  }
  const value = current?.default;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

function valueSchema({ additionalProperties }: JsonSchema): JsonSchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}
