import type { ManagerId } from '../merge/managers.ts';

/** The text that Kubernetes sorts managers by: the entry without fields, time, and an applier's version. */
export function managerIdentity({ name, isApplied, apiVersion, subresource }: ManagerId): string {
  return JSON.stringify({
    ...(name === '' ? {} : { manager: name }),
    operation: isApplied ? 'Apply' : 'Update',
    ...(isApplied ? {} : { apiVersion }),
    ...(subresource === '' ? {} : { subresource }),
  });
}
