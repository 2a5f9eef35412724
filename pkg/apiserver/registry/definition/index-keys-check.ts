import { fieldError, type StatusCause } from '#pkg/apimachinery/index';
import { isDefinition, type CustomResourceDefinition, type DefinitionVersion } from '#pkg/apis/index';
import type { KeyProblem } from '../../keys/key-messages.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

/** Tests a script of key functions in a sandbox. */
export interface KeyChecker {
  check(text: string, functions: readonly string[]): Promise<KeyProblem[]>;
}

/**
 * The problems in the functions that a valid definition's indexes name. A script that is already stored is not checked
 * again.
 */
export async function indexKeysCauses(
  definition: CustomResourceDefinition,
  old: JsonApiObject | undefined,
  checker: KeyChecker | undefined,
): Promise<StatusCause[]> {
  const known = old !== undefined && isDefinition(old) ? old.spec.versions.map(scriptOf) : [];
  const causes: StatusCause[] = [];
  for (const [position, version] of definition.spec.versions.entries()) {
    if (version.indexKeys === undefined || known.includes(scriptOf(version))) continue;
    const field = `spec.versions[${position}]`;
    const functions = functionsOf(version);
    const problems =
      checker === undefined
        ? [{ message: 'this server computes no keys' }]
        : await checker.check(version.indexKeys, functions);
    causes.push(...problems.map((problem) => causeOf(problem, version, field)));
  }
  return causes;
}

function causeOf(
  { function: name, message }: KeyProblem,
  { indexes = [] }: DefinitionVersion,
  field: string,
): StatusCause {
  const position = name === undefined ? -1 : indexes.findIndex(({ key }) => key === name);
  if (position !== -1) return fieldError.invalid(`${field}.indexes[${position}].key`, name, message);
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${message}`, field: `${field}.indexKeys` };
}

function functionsOf({ indexes = [] }: DefinitionVersion): string[] {
  return [...new Set(indexes.flatMap(({ key }) => (key === undefined ? [] : [key])))];
}

function scriptOf(version: DefinitionVersion): string {
  return JSON.stringify([version.indexKeys, functionsOf(version).toSorted()]);
}
