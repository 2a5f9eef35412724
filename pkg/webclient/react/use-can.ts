import { useCallback, useSyncExternalStore } from 'react';
import type { AnyObject, IndexTypes } from '#pkg/apimachinery/index';
import { permissionCheck, type Permission, type PermissionQuestion } from '../access/permission-check.ts';
import type { Resource } from '../resource/resource.ts';

/**
 * May the user do this? Asked once for all components, and every minute as long as one shows it. The server decides in
 * the end: a write may be refused all the same.
 */
export function useCan<T extends AnyObject, Indexes extends IndexTypes>(
  resource: Resource<T, Indexes>,
  verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | (string & {}),
  question: PermissionQuestion = {},
): Permission {
  const check = permissionCheck(resource, verb, question);
  const subscribe = useCallback((onChange: () => void) => check.subscribe(onChange), [check]);
  const read = (): Permission => check.current;
  return useSyncExternalStore(subscribe, read, read);
}
