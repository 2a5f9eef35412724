import type { SeededRandom } from '../../harness/seeded-random.ts';
import { judgeAccess, type AccessOperation } from '../model/access-model.ts';
import { identifyOnAccess, type Credential, type Identity } from '../model/credential.ts';
import type { OrgChoice } from '../model/org-choice.ts';
import { defaultOrgId, rootOrgId, type Person } from '../model/person.ts';
import type { Verdict } from '../model/verdict.ts';
import type { Facts } from '../fixtures/facts.ts';
import type { MatrixRequest, ServerName } from '../wire/matrix-request.ts';
import type { Making } from '../fixtures/disposable-records.ts';
import { addCookie, type CredentialStore } from '../wire/credential-store.ts';
import type { AccessRoute } from './access-routes.ts';
import type { Cell } from './cell.ts';
import { somebody } from './sample.ts';

export interface AccessCells {
  readonly facts: Facts;
  readonly credentialStore: CredentialStore;
  readonly routes: readonly AccessRoute[];
  /** `<method> <path>` of the document's operations that belong to an organization. */
  readonly inOrganization: ReadonlySet<string>;
}

/** Access management itself, the platform in its process, and one that forwards. */
const servers: readonly ServerName[] = ['access', 'access', 'platform', 'basic'];
/** Share of HEAD among reads; like GET without the body. */
const headShare = 0.06;

/** The cell of a number: routes in turn, everything else random. */
export function accessCell(
  number: number,
  random: SeededRandom,
  { facts, credentialStore, routes, inOrganization }: AccessCells,
): Cell {
  const route = routes[number % routes.length]!;
  const choice = organization(random, facts);
  const operation: AccessOperation = {
    ...route,
    isInOrganization: isAboutSelected(route, choice) && inOrganization.has(`${route.method} ${route.path}`),
  };
  // A form requires a body.
  const { person, another, credential } = somebody(
    random,
    facts.people,
    credentialStore,
    ({ header, session, restriction }) =>
      restriction === undefined &&
      (session?.csrf !== 'form' || route.body !== undefined) &&
      (route.endsSession !== true || header !== undefined || !isUsable(session)),
  );
  const judged = judgeAccess({ operation, credential, person, another, choice, orgs: facts.orgNames });
  const identity = identifyOnAccess(credential, person, another, operation.path);
  const verdict =
    route.isNowhere === true
      ? nowhere(route, judged, identity === 'authentication_failed')
      : route.isPage === true
        ? onPage(judged, identity)
        : judged;
  const isBare = random.chance(0.2);
  const server = isAlsoOnPlatform(route) ? random.pick(servers) : 'access';
  const isHead = route.method === 'GET' && random.chance(headShare);
  return {
    number,
    credential: credential.name,
    facts: {
      route: `${isHead ? 'HEAD' : route.method} ${route.path} ${route.id ?? ''}`.trim(),
      person: describe(person),
      organization: choice.name,
      ...(server === 'access' ? {} : { at: server }),
      ...(credential.session?.another === true ? { another: another.username } : {}),
    },
    verdict: isHead ? { allowed: verdict.allowed, status: verdict.status, why: verdict.why } : verdict,
    ...(route.id?.startsWith('new ') === true
      ? { makes: { what: route.id.slice(4) as Making['what'], userId: facts.userIds.get(person.username)! } }
      : {}),
    request: (origins, made) => {
      const path = route.path.replace('{id}', () => made ?? idOf(route.id, person, facts));
      const request: MatrixRequest = {
        server,
        method: isHead ? 'HEAD' : route.method,
        target: isBare ? path.replace(/\/$/, '') : path,
        headers: { Accept: 'application/json', ...route.headers },
      };
      if (route.body !== undefined) {
        request.body = JSON.stringify(route.body);
        request.headers['Content-Type'] = 'application/json';
      }
      const chosen = withOrganization(request, choice);
      credentialStore.present(credential, chosen, { person, another, origin: origins[server] });
      // A platform refuses this itself, with 400, before it forwards anything.
      const isSentTwice = Array.isArray(chosen.headers['Authorization']);
      return server === 'basic' && isSentTwice ? { ...chosen, server: 'platform' } : chosen;
    },
  };
}

/** The platform answers these paths itself, or nobody does. */
function isAlsoOnPlatform({ path }: AccessRoute): boolean {
  return !/^\/(?:metrics|debug\/|api\/v1\/nothing\/)/.test(path);
}

/** Would a change by this session be carried out? */
function isUsable(session: Credential['session']): boolean {
  return (
    session !== undefined &&
    session.fault === undefined &&
    session.origin !== 'foreign' &&
    (session.csrf === 'header' || session.csrf === 'form')
  );
}

export function describe({ username, systemRoles, orgRoles, groups, isAlive }: Person): string {
  const inOrgs = Object.entries(orgRoles).map(([org, roles]) => `${org}: ${roles.join(' ')}`);
  return [username, ...(isAlive ? [] : ['disabled or expired']), ...systemRoles, ...inOrgs, ...groups].join(', ');
}

/** Unless the request names its organization, or lists those of all if none is selected. */
function isAboutSelected({ namesOrganization, listsOfAll }: AccessRoute, { oid, header, cookie }: OrgChoice): boolean {
  return namesOrganization !== true && (listsOfAll !== true || (oid ?? header ?? cookie) !== undefined);
}

/** For a missing operation, other refusals may come first or not at all; a wrong header is always refused. */
function nowhere({ judge }: AccessRoute, judged: Verdict, isHeaderWrong: boolean): Verdict {
  if (isHeaderWrong) return judged;
  const { status, why } = judge({ username: '', systemRoles: [], orgRoles: {}, groups: [], isAlive: true }, '');
  return { allowed: false, status: [...new Set([...judged.status, ...status])], why };
}

/** Pages need a session: others are redirected to the login. Refusals are pages too. */
function onPage({ allowed, status, why }: Verdict, identity: Identity): Verdict {
  const isShownTheWay = identity === 'anonymous' || (typeof identity === 'object' && identity.via === 'header');
  return isShownTheWay ? { allowed: false, why: 'no session', status: [303] } : { allowed, why, status };
}

function idOf(id: string | undefined, person: Person, { userIds, accessKeys }: Facts): string {
  if (id === 'own user') return userIds.get(person.username)!;
  return id === 'own key' ? accessKeys.get(person.username)! : (id ?? '');
}

function organization(random: SeededRandom, { orgs: { a, b, empty } }: Facts): OrgChoice {
  const one = (): string =>
    random.pick([
      a,
      a,
      b,
      b,
      empty,
      rootOrgId,
      defaultOrgId,
      'ROOT',
      'default',
      'matrix-a',
      'Matrix-B',
      '22222222-2222-4222-8222-222222222222',
      'no such organization',
      a.slice(1),
      `${a}0`,
    ]);
  return random.one<OrgChoice>(
    () => ({ name: 'none' }),
    () => named('X-SVC-ORG', { header: one() }),
    () => named('X-SVC-ORG', { header: one() }),
    () => named('oid', { oid: one() }),
    () => named('cookie', { cookie: one() }),
    () => named('oid before the header', { oid: one(), header: one() }),
    () => named('the header before the cookie', { header: one(), cookie: one() }),
    () => named('two in one header', { header: `${one()}, ${one()}` }),
    () => named('the header twice', { header: [one(), one()] }),
    () => named('oid twice', { oid: [one(), one()] }),
  );
}

function named(name: string, choice: Omit<OrgChoice, 'name'>): OrgChoice {
  return { name: `${name} ${JSON.stringify(choice)}`, ...choice };
}

function withOrganization(request: MatrixRequest, { oid, header, cookie }: OrgChoice): MatrixRequest {
  const search =
    oid === undefined
      ? ''
      : `?${[oid]
          .flat()
          .map((each) => `oid=${encodeURIComponent(each)}`)
          .join('&')}`;
  const chosen = {
    ...request,
    target: `${request.target}${search}`,
    headers: { ...request.headers, ...(header === undefined ? {} : { 'X-SVC-ORG': header }) },
  };
  if (cookie !== undefined) addCookie(chosen, `X-SVC-ORG=${encodeURIComponent(cookie)}`);
  return chosen;
}
