import { fieldError, type ApiObject, type StatusCause } from '#pkg/apimachinery/index';
import { validateApproval } from './api-approval.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { isDefinition, shapeCauses } from './definition-shape.ts';
import { validateConversion } from './validate-conversion.ts';
import { validateDefinitionName, validateGroup, validateNames, validatePluralPath } from './validate-names.ts';
import { validateVersions, type StructuralSchemaCheck } from './validate-versions.ts';

export interface DefinitionValidation {
  validateStructuralSchema: StructuralSchemaCheck;
  /** The stored definition, on an update. */
  old?: ApiObject<unknown, unknown>;
}

/**
 * All errors of a definition from a client, one cause per field; empty if it may be stored. Expects the defaults of
 * defaultDefinition, and on an update the status that the object will have. Never throws, whatever the object contains:
 * if a type is wrong, only types are reported. Source of rules and texts: k8s.io/apiextensions-apiserver.
 */
export function validateDefinition(
  definition: ApiObject<unknown, unknown>,
  { validateStructuralSchema, old }: DefinitionValidation,
): StatusCause[] {
  if (!isDefinition(definition)) return shapeCauses(definition);
  const { metadata, spec } = definition;
  return [
    ...validateDefinitionName(definition),
    ...validateGroup(spec.group),
    ...validateNames(spec.names),
    ...validatePluralPath(spec),
    ...validateScope(spec.scope),
    ...validateVersions(spec.versions, validateStructuralSchema),
    ...validateConversion(spec.conversion, old !== undefined && isDefinition(old) ? old.spec.conversion : undefined),
    ...(spec.preserveUnknownFields === true
      ? [
          fieldError.invalid(
            'spec.preserveUnknownFields',
            true,
            'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
          ),
        ]
      : []),
    ...validateApproval(spec.group, metadata, old?.metadata),
    ...validateStoredVersions(definition),
    ...(old !== undefined && isDefinition(old) ? validateImmutable(definition, old) : []),
  ];
}

function validateScope(scope: string): StatusCause[] {
  if (scope === '') return [fieldError.required('spec.scope')];
  return scope === 'Cluster' || scope === 'Namespaced'
    ? []
    : [fieldError.notSupported('spec.scope', scope, ['Cluster', 'Namespaced'])];
}

function validateStoredVersions({ spec, status }: CustomResourceDefinition): StatusCause[] {
  const names = new Set(spec.versions.map(({ name }) => name));
  return (status?.storedVersions ?? []).flatMap((stored, index) => {
    if (names.has(stored)) return [];
    const until = `until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`;
    const detail = `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions ${until}`;
    return [fieldError.invalid(`status.storedVersions[${index}]`, stored, detail)];
  });
}

/** Tables, permissions and stored objects depend on these fields. */
function validateImmutable({ spec }: CustomResourceDefinition, { spec: old }: CustomResourceDefinition): StatusCause[] {
  const pairs: [string, string, string][] = [
    ['spec.group', spec.group, old.group],
    ['spec.names.plural', spec.names.plural, old.names.plural],
    ['spec.names.kind', spec.names.kind, old.names.kind],
    ['spec.scope', spec.scope, old.scope],
  ];
  return pairs
    .filter(([, value, before]) => value !== before)
    .map(([field, value]) => fieldError.invalid(field, value, 'field is immutable'));
}
