import { duplicate, forbidden, invalid, notSupported, required, tooMany } from '../status/field-error.ts';
import { isPrototypeKey } from '../serializer/value-rules.ts';
import type { StatusCause } from '../status/status.ts';
import { builtinIndexes, isComputedIndex, type ComputedIndex, type IndexDefinition } from './index-definition.ts';
import { parseIndexPath } from './index-path.ts';
import { indexTypeDescriptions } from './index-value.ts';

/** Indexes one model may declare: each is a column that every write maintains. */
export const maxIndexes = 64;

const maxNameLength = 253;
/** No white space, control characters, surrogates, or characters with a meaning in selectors and `sort`. */
const nameSyntax = /^[^\s\p{Cc}\p{Cf}\p{Cs}=!<>^(),\\]+$/u;
/** Name of an exported function. */
const functionSyntax = /^[A-Za-z_$][\w$]{0,99}$/;
const takenNames = new Set([...builtinIndexes.map((index) => index.name), 'metadata.labels', 'name']);

/**
 * Causes why a model's indexes cannot be registered; empty if they can. `fieldPath` is where the indexes are declared.
 * Names are unique, printable, at most 253 characters, without white space and the special characters of selectors; the
 * built-in names, `metadata.labels` and `name` (short for `metadata.name`) are reserved. A path contains `[*]` exactly
 * if the index is multi-value, and such an index is never unique. Of a computed index only the function's name is
 * checked: at most 100 letters, digits, `_` and `$`.
 */
export function validateIndexes(indexes: readonly IndexDefinition[], fieldPath: string): StatusCause[] {
  if (indexes.length > maxIndexes) return [tooMany(fieldPath, indexes.length, maxIndexes)];
  const names = new Set<string>();
  return indexes.flatMap((index, position) => {
    const field = `${fieldPath}[${position}]`;
    const causes = [
      ...validateName(index.name, `${field}.name`),
      ...(isComputedIndex(index) ? validateFunction(index, `${field}.key`) : validatePath(index, `${field}.path`)),
    ];
    if (names.has(index.name)) causes.push(duplicate(`${field}.name`, index.name));
    names.add(index.name);
    if (!Object.hasOwn(indexTypeDescriptions, index.type))
      causes.push(notSupported(`${field}.type`, index.type, Object.keys(indexTypeDescriptions)));
    if (index.multi && index.unique)
      causes.push(forbidden(`${field}.unique`, 'an index of several values cannot be unique'));
    return causes;
  });
}

function validateName(name: string, field: string): StatusCause[] {
  if (name === '') return [required(field)];
  if (takenNames.has(name)) return [forbidden(field, `${name} exists already in every model`)];
  if (name.length > maxNameLength || !nameSyntax.test(name)) {
    return [
      invalid(
        field,
        name,
        String.raw`must be at most ${maxNameLength} printable characters, no white space and none of =!<>^(),\ `.trimEnd(),
      ),
    ];
  }
  return [];
}

function validateFunction({ computed }: ComputedIndex, field: string): StatusCause[] {
  const { function: name } = computed;
  if (functionSyntax.test(name) && !isPrototypeKey(name)) return [];
  return [invalid(field, name, 'must be the name of an exported function: at most 100 letters, digits, _ and $')];
}

function validatePath(index: IndexDefinition, field: string): StatusCause[] {
  const parsed = parseIndexPath(index.path);
  if ('problem' in parsed) return [invalid(field, index.path, parsed.problem)];
  const [first, second] = parsed.segments;
  if (
    first !== undefined &&
    second !== undefined &&
    'property' in first &&
    'property' in second &&
    first.property === 'metadata'
  ) {
    // The server sets them after the keys are extracted.
    if (second.property === 'resourceVersion' || second.property === 'managedFields')
      return [forbidden(field, `metadata.${second.property} cannot be indexed`)];
  }
  const several = parsed.segments.some((segment) => 'everyItem' in segment);
  if (several !== index.multi)
    return [
      invalid(
        field,
        index.path,
        index.multi ? "an index of several values needs '[*]'" : "'[*]' needs an index of several values",
      ),
    ];
  return [];
}
