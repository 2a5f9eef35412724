import { fieldError, validateIndexes, type StatusCause } from '#pkg/apimachinery/index';
import type { DefinitionVersion } from './definition.ts';
import { indexFromDeclaration } from './definition-indexes.ts';

/** Bytes of UTF-8 of a version's `indexKeys`. */
export const maxIndexKeysText = 256 * 1024;

/**
 * Checks the indexes that one version declares, and the size of its script. The server checks whether the script runs.
 */
export function validateDeclaredIndexes({ indexes = [], indexKeys }: DefinitionVersion, field: string): StatusCause[] {
  const causes = indexes.flatMap(({ path, key }, position) => {
    const each = `${field}.indexes[${position}]`;
    if (path === undefined && key === undefined) return [fieldError.required(`${each}.path`, 'or a key')];
    return path === undefined || key === undefined
      ? []
      : [fieldError.forbidden(`${each}.key`, 'an index has a path or a key, not both')];
  });
  // The other rules need exactly one of both.
  if (causes.length === 0)
    causes.push(
      ...validateIndexes(
        indexes.map((each) => indexFromDeclaration(each, indexKeys)),
        `${field}.indexes`,
      ),
    );
  if (indexKeys === undefined && indexes.some(({ key }) => key !== undefined))
    causes.push(fieldError.required(`${field}.indexKeys`, 'the text of the functions that compute keys'));
  if (indexKeys !== undefined && Buffer.byteLength(indexKeys) > maxIndexKeysText)
    causes.push(fieldError.tooLong(`${field}.indexKeys`, maxIndexKeysText));
  return causes;
}
