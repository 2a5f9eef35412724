import { fold, type BindingSubjectCheck } from '#pkg/access/index';
import type { Reader } from '#pkg/apimachinery/index';
import { clusterRoleBindingType, roleBindingType } from '#pkg/apis/index';
import type { PlatformRegistry } from '#pkg/apiserver/index';

/** Maximum age of the known bindings: older data must not decide whether a name is free. Milliseconds. */
const maxLagMs = 5000;
const timeoutMs = 5000;

/** For a process that watches all bindings. */
export function bindingCheckByIndex(
  roles: Pick<PlatformRegistry['roles'], 'lagMs' | 'isNamedByBinding'>,
): BindingSubjectCheck {
  return async (username) => {
    if (roles.lagMs > maxLagMs) throw new Error('the newest bindings cannot be read at present');
    return roles.isNamedByBinding(username);
  };
}

/** For any other process: lists all bindings, because no selector finds a subject. */
export function bindingCheckByClient(client: Pick<Reader, 'list'>): BindingSubjectCheck {
  return async (username) => {
    const key = fold(username);
    const signal = AbortSignal.timeout(timeoutMs);
    const lists = await Promise.all([
      client.list(clusterRoleBindingType, { signal }),
      client.list(roleBindingType, { signal }),
    ]);
    return lists.some(({ items }) =>
      items.some(({ subjects = [] }) => subjects.some(({ kind, name }) => kind === 'User' && fold(name) === key)),
    );
  };
}
