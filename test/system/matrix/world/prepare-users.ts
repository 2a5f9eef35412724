import { randomBytes } from 'node:crypto';
import type { Person } from '../model/person.ts';
import type { AccessKey } from '../../harness/client/sign-request.ts';
import type { SessionCookies } from '../wire/credential-store.ts';
import type { WorldApi } from './world-api.ts';

const v1 = '/api/v1';
const inRoot = '?oid=ROOT';

/** A user's credentials, and the ids that others need. */
export interface Member {
  readonly person: Person;
  readonly id: string;
  readonly password: string;
  readonly bearer: string;
  readonly session: SessionCookies;
  readonly key: AccessKey;
  /** Ids of the created role bindings, by `<role>` or `<role> <organization>`. */
  readonly bindings: ReadonlyMap<string, string>;
}

export async function makeOrganization(api: WorldApi, admin: string, name: string): Promise<string> {
  const { id } = await api.access<{ id: string }>('POST', `${v1}/orgs/orgs/`, { token: admin, body: { name } });
  return id;
}

/**
 * Creates a user with roles and one credential of every kind that HTTP offers; `admin` is the administrator's Bearer
 * token.
 */
export async function makeUser(api: WorldApi, admin: string, person: Person): Promise<Member> {
  const { username, groups } = person;
  const password = randomBytes(12).toString('hex');
  const { id } = await api.access<{ id: string }>('POST', `${v1}/users/users/${inRoot}`, {
    token: admin,
    body: { username, name: username, email: `${username}@matrix.example`, password, groups },
  });
  const bindings = await giveRoles(api, admin, { id, person });
  const bearer = await logIn(api, username, password);
  const key = await makeKey(api, bearer, {});
  return { person, id, password, bearer, key, bindings, session: await api.logIn(username, password) };
}

export async function logIn(api: WorldApi, username: string, password: string): Promise<string> {
  const { token } = await api.access<{ token: string }>('POST', `${v1}/authentication/auth/`, {
    body: { username, password },
  });
  return token;
}

export async function makeKey(
  api: WorldApi,
  bearer: string,
  body: { ip_group?: readonly string[] },
): Promise<AccessKey> {
  return api.access<AccessKey>('POST', `${v1}/authentication/access-keys/`, { token: bearer, body });
}

/** Makes all of the user's credentials invalid. */
export async function endUser(
  api: WorldApi,
  admin: string,
  { id, person }: Pick<Member, 'id' | 'person'>,
): Promise<void> {
  const body = person.username.startsWith('expired-') ? { date_expired: '2020-02-02T02:02:02Z' } : { is_active: false };
  await api.access('PATCH', `${v1}/users/users/${id}/${inRoot}`, { token: admin, body });
}

async function giveRoles(
  api: WorldApi,
  admin: string,
  { id, person }: { id: string; person: Person },
): Promise<Map<string, string>> {
  const bindings = new Map<string, string>();
  const bind = async (kind: 'system' | 'org', name: string, body: Record<string, string>): Promise<void> => {
    const made = await api.access<{ id: string }>('POST', `${v1}/rbac/${kind}-role-bindings/${inRoot}`, {
      token: admin,
      body: { user: id, ...body },
    });
    bindings.set(name, made.id);
  };
  // A new user is a SystemUser already.
  for (const role of person.systemRoles) if (role !== 'SystemUser') await bind('system', role, { role });
  for (const [org, roles] of Object.entries(person.orgRoles))
    for (const role of roles) await bind('org', `${role} ${org}`, { role, org });
  return bindings;
}
