import { ApplyConflict, compareIndexValues, fieldManagerConflict, type StatusCause } from '#pkg/apimachinery/index';
import { forEachMember } from '../fieldpath/field-set.ts';
import { formatElements } from '../fieldpath/path-element.ts';
import { formatFloat, formatNumber, quoteText } from '../fieldpath/element-value.ts';
import type { ManagerConflicts } from '../merge/manager-conflicts.ts';
import type { ManagerState } from '../merge/managers.ts';
import { managerIdentity } from './manager-identity.ts';

/** A path that keeps a configuration from being applied. */
export interface PathConflict {
  manager: ManagerState;
  path: readonly string[];
}

/** The fields of the conflicts; managers are sorted. */
export function fieldConflicts({ conflicts }: ManagerConflicts): PathConflict[] {
  const sorted = conflicts.toSorted((a, b) =>
    compareIndexValues(managerIdentity(a.manager), managerIdentity(b.manager)),
  );
  const result: PathConflict[] = [];
  for (const { manager, set } of sorted) forEachMember(set, (path) => result.push({ manager, path: [...path] }));
  return result;
}

/** Fields that a conflict names. */
const maxNamed = 500;

/** The 409 for at least one conflict, in Kubernetes' words. Of very many it names only the first. */
export function newApplyConflict(conflicts: readonly PathConflict[]): ApplyConflict {
  const causes = conflicts.slice(0, maxNamed).map(({ manager, path }) => ({
    reason: fieldManagerConflict,
    message: `conflict with ${formatManager(manager)}`,
    // Numbers of a set that was read are floats in Go, those of the object are integers.
    field: formatElements(path, manager.sortedSet === undefined ? formatNumber : formatFloat),
  }));
  return new ApplyConflict(`Apply failed with ${formatConflicts(causes, conflicts.length)}`, { details: { causes } });
}

function formatConflicts(causes: readonly Required<StatusCause>[], count: number): string {
  if (count === 1) return `1 conflict: ${causes[0]!.message}: ${causes[0]!.field}`;
  const lines: string[] = [];
  let manager = '';
  for (const { message, field } of causes) {
    if (message !== manager) lines.push(`${message.replace('conflict', 'conflicts')}:`);
    manager = message;
    lines.push(`- ${field}`);
  }
  if (count > causes.length) lines.push(`and ${count - causes.length} more`);
  return `${count} conflicts: ${lines.join('\n')}`;
}

function formatManager({ name, isApplied, apiVersion, subresource }: ManagerState): string {
  const suffix = subresource === '' ? '' : ` with subresource ${quoteText(subresource)}`;
  return `${quoteText(name)}${suffix}${isApplied ? '' : ` using ${apiVersion}`}`;
}
