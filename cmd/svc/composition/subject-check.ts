import { fold, type SubjectCheck } from '#pkg/access/index';
import type { Reader } from '#pkg/apimachinery/index';
import { clusterRoleBindingType, roleBindingType } from '#pkg/apis/index';
import type { PlatformRegistry } from '#pkg/apiserver/index';

/** Of what is known here of bindings: older is not good enough to give a name away. */
const LONGEST_LAG_MS = 5000;
const TIMEOUT_MS = 5000;

/** Where this process follows all bindings. */
export function subjectsByIndex(roles: Pick<PlatformRegistry['roles'], 'lagMs' | 'isSubject'>): SubjectCheck {
  return async (username) => {
    if (roles.lagMs > LONGEST_LAG_MS) throw new Error('the newest bindings cannot be read at present');
    return roles.isSubject(username);
  };
}

/** Elsewhere: all bindings are read for it, as no selector finds a subject. */
export function subjectsByClient(client: Pick<Reader, 'list'>): SubjectCheck {
  return async (username) => {
    const key = fold(username);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const lists = await Promise.all([
      client.list(clusterRoleBindingType, { signal }),
      client.list(roleBindingType, { signal }),
    ]);
    return lists.some(({ items }) =>
      items.some(({ subjects = [] }) => subjects.some(({ kind, name }) => kind === 'User' && fold(name) === key)),
    );
  };
}
