import type { Person } from '../model/person.ts';
import { requesterOf } from '../model/platform-model.ts';
import { masters, type RoleBook } from '../model/rbac.ts';
import type { SessionCookies } from '../wire/credential-store.ts';
import type { WorldApi } from './world-api.ts';

export const personalTokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
/** For an administrator, who may restrict a token to any role. */
const anyRoles = ['view', 'edit', 'cluster-admin', 'gadgets.matrix.svc.example:view', 'matrix-1', 'matrix-7'];
/** Restricted tokens of one user. */
const most = 4;

/** Returns the token itself. */
export async function makePersonalToken(
  api: WorldApi,
  session: SessionCookies,
  { name, roles }: { name: string; roles?: readonly string[] },
): Promise<string> {
  const made = await api.platform<{ status: { token: string } }>('POST', personalTokens, {
    session,
    body: { metadata: { name }, spec: roles === undefined ? {} : { roles } },
  });
  return made.status.token;
}

/** A token for each of some roles that the user has. */
export async function makeNarrowedTokens(
  api: WorldApi,
  { person, session, book }: { person: Person; session: SessionCookies; book: RoleBook },
): Promise<Record<string, string>> {
  const { username, groups } = requesterOf(person);
  const bound = book.bindings.filter(
    ({ namespace, subjects }) =>
      namespace === undefined &&
      subjects.some(({ kind, name }) => (kind === 'User' ? name === username : groups.includes(name))),
  );
  const held = ['svc:personal-tokens', ...(groups.includes(masters) ? anyRoles : bound.map(({ role }) => role.name))];
  const roles = [...new Set(held)]
    .filter((role) => !role.startsWith('system:'))
    .slice(0, groups.includes(masters) ? held.length : most);
  const tokens = await Promise.all(
    roles.map(
      async (role, i) =>
        [role, await makePersonalToken(api, session, { name: `matrix-narrowed-${i}`, roles: [role] })] as const,
    ),
  );
  return Object.fromEntries(tokens);
}
