import type pg from 'pg';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { defaultOrgId, rootOrgId, type Person } from '../model/person.ts';
import type { OrgNames } from '../model/org-choice.ts';
import type { RoleBook } from '../model/rbac.ts';
import type { MatrixClient } from '../wire/matrix-client.ts';
import { CredentialStore, type UserCredentials } from '../wire/credential-store.ts';
import { waitForAudiences } from './audiences-plugin.ts';
import type { Facts } from './facts.ts';
import type { MatrixServers } from './matrix-servers.ts';
import { changed, inventPeople, inventTargets, spoilt } from './people.ts';
import { makeNarrowedTokens, makePersonalToken } from './personal-tokens.ts';
import { prepareRoles } from './prepare-roles.ts';
import { endUser, logIn, makeOrganization, makeUser, type Member } from './prepare-users.ts';
import { changePassword, spoilCredentials } from './spoil-credentials.ts';
import { WorldApi } from './world-api.ts';

/** Users created concurrently. */
const atOnce = 4;

export interface WorldOptions {
  readonly servers: MatrixServers;
  readonly client: MatrixClient;
  readonly pool: pg.Pool;
  readonly random: SeededRandom;
  /** Number of users with random roles, next to those with each role alone. */
  readonly chance: number;
  /** Number of users with a private token, each of which takes a process; with 0 no cell uses one. */
  readonly privateTokens: number;
  readonly hasPlugin: boolean;
}

/** Creates everything that the cells need, through the servers' APIs if possible. */
export async function prepareWorld({
  servers,
  client,
  pool,
  random,
  chance,
  privateTokens,
  hasPlugin,
}: WorldOptions): Promise<{ facts: Facts; credentialStore: CredentialStore }> {
  const api = new WorldApi(client, servers.adminToken);
  const admin = await logIn(api, 'admin', servers.adminPassword);
  const [a = '', b = '', empty = ''] = await someAtOnce(['matrix-a', 'matrix-b', 'matrix-empty'], (name) =>
    makeOrganization(api, admin, name),
  );
  const orgs = { a, b, empty };
  const people = inventPeople(random, orgs, chance);
  const targets = inventTargets(orgs);
  const members = await someAtOnce([...people, targets.inA, targets.inB], (person) => makeUser(api, admin, person));
  const book = await prepareRoles(api, random, { people, orgs });
  if (hasPlugin) await waitForAudiences(api);
  const filled = await someAtOnce(members, async (member) => {
    const { username } = member.person;
    const hasPrivate = members.indexOf(member) < privateTokens || (privateTokens > 0 && username === spoilt);
    return fill(member, {
      api,
      book,
      ...(hasPrivate ? { privateToken: await servers.privateToken('create', username) } : {}),
    });
  });
  const byUsername = new Map(filled.map((userCredentials) => [userCredentials.username, userCredentials]));
  const memberOf = (person: Person | string): Member =>
    members.find((each) => each.person.username === (typeof person === 'string' ? person : person.username))!;
  const toSpoil = byUsername.get(spoilt)!;
  byUsername.set(spoilt, {
    ...toSpoil,
    ...(await spoilCredentials(toSpoil, {
      api,
      pool,
      rotatePrivateToken: (user) => servers.privateToken('rotate', user),
    })),
  });
  byUsername.set(changed, await changePassword(byUsername.get(changed)!, api));
  await makePersonalToken(api, memberOf(targets.inA).session, { name: 'matrix-of-another' });
  for (const member of members) if (!member.person.isAlive) await endUser(api, admin, member);
  const [session] = await api.access<{ id: string }[]>('GET', '/api/v1/authentication/sessions/', {
    token: memberOf(targets.inA).bearer,
  });
  const facts: Facts = {
    people,
    orgs,
    targets,
    book,
    hasPlugin,
    orgNames: namesOf(orgs),
    userIds: new Map(members.map(({ person, id }) => [person.username, id])),
    accessKeys: new Map(members.map(({ person, key }) => [person.username, key.id])),
    bindings: {
      inA: memberOf(targets.inA).bindings.get(`OrgUser ${a}`)!,
      inB: memberOf(targets.inB).bindings.get(`OrgUser ${b}`)!,
      system: memberOf('auditor').bindings.get('SystemAuditor')!,
    },
    sessionInA: session!.id,
  };
  return { facts, credentialStore: new CredentialStore(byUsername) };
}

async function fill(
  { person, password, bearer, session, key }: Member,
  { api, book, privateToken }: { api: WorldApi; book: RoleBook; privateToken?: string },
): Promise<UserCredentials> {
  const personalToken = await makePersonalToken(api, session, { name: 'matrix' });
  const narrowed = await makeNarrowedTokens(api, { person, session, book });
  return {
    username: person.username,
    password,
    bearer,
    session,
    key,
    personalToken,
    narrowed,
    dead: {},
    ...(privateToken === undefined ? {} : { privateToken }),
  };
}

/** An organization can be named by id or name, and two by reserved words, in any case. */
function namesOf(orgs: Facts['orgs']): OrgNames {
  const ids = [...Object.values(orgs), rootOrgId, defaultOrgId].map((id) => [id, id] as const);
  return new Map([
    ...ids,
    ['matrix-a', orgs.a],
    ['matrix-b', orgs.b],
    ['matrix-empty', orgs.empty],
    ['root', rootOrgId],
    ['default', defaultOrgId],
  ]);
}

/** Results in the order of the items. */
async function someAtOnce<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let i = 0; i < items.length; i += atOnce)
    results.push(...(await Promise.all(items.slice(i, i + atOnce).map(work))));
  return results;
}
