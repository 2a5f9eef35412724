import { setCondition } from '../meta/condition.ts';
import { isEstablished, type CustomResourceDefinition, type DefinitionStatus } from './definition.ts';
import { acceptNames, type NameClaim, type NameConflict, type NameField } from './names.ts';

const conflictReasons: Record<NameField, string> = {
  plural: 'PluralConflict',
  singular: 'SingularConflict',
  shortNames: 'ShortNamesConflict',
  kind: 'KindConflict',
  listKind: 'ListKindConflict',
};

/**
 * The status of a definition, given the other owners of names in its group: accepted names, the conditions
 * NamesAccepted and Established, and the storage version among the stored ones. Other conditions are kept, and a
 * correct status is returned equal. An established definition stays established; its later names may still be refused.
 * @param now RFC 3339, UTC, whole seconds.
 */
export function definitionStatus(
  definition: CustomResourceDefinition,
  others: readonly NameClaim[],
  now: string,
): Required<DefinitionStatus> {
  const { accepted, conflicts } = acceptNames(definition, others);
  const named = setCondition(definition.status?.conditions ?? [], namesAccepted(conflicts[0]), now);
  const established = isEstablished(definition)
    ? named
    : setCondition(
        named,
        conflicts.length === 0
          ? {
              type: 'Established',
              status: 'True',
              reason: 'InitialNamesAccepted',
              message: 'the initial names have been accepted',
            }
          : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
        now,
      );
  return { conditions: established, acceptedNames: accepted, storedVersions: storedVersions(definition) };
}

function namesAccepted(conflict: NameConflict | undefined): {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
} {
  if (conflict === undefined)
    return { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' };
  const message = `${JSON.stringify(conflict.value)} is already in use by ${conflict.owner}`;
  return { type: 'NamesAccepted', status: 'False', reason: conflictReasons[conflict.field], message };
}

function storedVersions({ spec, status }: CustomResourceDefinition): string[] {
  const storage = spec.versions.filter((version) => version.storage).map(({ name }) => name);
  return [...new Set([...(status?.storedVersions ?? []), ...storage])];
}
