import { isJsonObject, type JsonValue } from '../meta/object.ts';
import { maxIndexKeyBytes } from '../scheme/index-definition.ts';
import { invalid, required, tooLong, tooMany } from '../status/field-error.ts';
import type { StatusCause } from '../status/status.ts';

export const maxOwnerReferences = 256;

/**
 * Source: ValidateOwnerReferences in k8s.io/apimachinery/pkg/api/validation. A uid must fit into the index on it, too.
 */
export function validateOwnerReferences(references: JsonValue | undefined, field: string): StatusCause[] {
  if (!Array.isArray(references)) return [];
  if (references.length > maxOwnerReferences) return [tooMany(field, references.length, maxOwnerReferences)];
  const objects = references.map((reference) => (isJsonObject(reference) ? reference : {}));
  const causes = objects.flatMap((reference, index) =>
    ['apiVersion', 'kind', 'name', 'uid']
      .filter((key) => isBlank(reference[key]))
      .map((key) => required(`${field}[${index}].${key}`)),
  );
  for (const [index, { uid }] of objects.entries()) {
    if (typeof uid === 'string' && Buffer.byteLength(uid) > maxIndexKeyBytes)
      causes.push(tooLong(`${field}[${index}].uid`, maxIndexKeyBytes));
  }
  const controllers = objects.filter((reference) => reference['controller'] === true);
  if (controllers.length < 2) return causes;
  const names = controllers.slice(0, 2).map((reference) => `${show(reference['kind'])}/${show(reference['name'])}`);
  return [...causes, invalid(field, names, 'only one reference can have controller set to true')];
}

function isBlank(value: JsonValue | undefined): boolean {
  return typeof value !== 'string' || value === '';
}

function show(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.slice(0, 60) : '';
}
