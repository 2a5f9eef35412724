import { permit, type Rule } from '../model/access-model.ts';
import { hasOrgRole, hasSystemRole, orgsOf, rootOrgId, type Person } from '../model/person.ts';
import { allow, refuse } from '../model/verdict.ts';
import type { Facts } from '../fixtures/facts.ts';

/** One operation of the access service with its target. */
export interface AccessRoute {
  readonly method: string;
  /** The path in the served document. */
  readonly path: string;
  /** Replaces `{id}`; `own user` and `own key` are the caller's, `new` is created for this cell. */
  readonly id?: string;
  readonly body?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isOpen?: true;
  readonly ignoresSession?: true;
  /** A login that sets cookies: pages of other sites are refused, with or without a session. */
  readonly refusesForeignPages?: true;
  /** It is about the session of the request. */
  readonly needsSession?: true;
  /** It ends the session of the request: only credentials for which it is refused. */
  readonly endsSession?: true;
  /** Pages, metrics and the log level are not in the document. */
  readonly isUndocumented?: true;
  /** A page: anonymous users are redirected to the login. */
  readonly isPage?: true;
  /** The operation does not exist; the contract does not say whether that or a missing credential is reported first. */
  readonly isNowhere?: true;
  /** The contract requires the selected organization here, so the document must too. */
  readonly mustBeInOrganization?: true;
  /** The body names the organization, so the header does not matter. */
  readonly namesOrganization?: true;
  /** If none is selected, it lists what the user may see in all. */
  readonly listsOfAll?: true;
  readonly judge: Rule;
}

const unknownId = '11111111-2222-4333-8444-555555555555';
const v1 = '/api/v1';
const nowhere = { isUndocumented: true, isNowhere: true } as const;

const isAdministrator = (person: Person): boolean => hasSystemRole(person, 'SystemAdmin');
const isSystemReader = (person: Person): boolean => hasSystemRole(person, 'SystemAdmin', 'SystemAuditor');
const reads = (person: Person, org: string): boolean =>
  isSystemReader(person) || hasOrgRole(person, org, 'OrgAdmin', 'OrgAuditor');
const manages = (person: Person, org: string): boolean =>
  isAdministrator(person) || hasOrgRole(person, org, 'OrgAdmin');

const anybody =
  (...status: number[]): Rule =>
  () =>
    allow(status, 'open, or of oneself');
const readers =
  (...status: number[]): Rule =>
  (person, org) =>
    permit(reads(person, org), status, 'administrators and auditors, of the organization too');
const systemReaders =
  (...status: number[]): Rule =>
  (person) =>
    permit(isSystemReader(person), status, 'SystemAdmin and SystemAuditor');
const administrators =
  (...status: number[]): Rule =>
  (person) =>
    permit(isAdministrator(person), status, 'SystemAdmin');
const managers =
  (...status: number[]): Rule =>
  (person, org) =>
    permit(manages(person, org), status, 'SystemAdmin, and OrgAdmin of the organization');
const never =
  (status: number | readonly number[], why: string): Rule =>
  () =>
    refuse(status, why);

/** All operations of the contract, and all other served paths. */
export function accessRoutes(facts: Facts): AccessRoute[] {
  return [...users(facts), ...own(facts), ...orgs(facts), ...roles(facts), ...open()];
}

function users({ targets, userIds }: Facts): AccessRoute[] {
  const path = `${v1}/users/users/`;
  const one = `${path}{id}/`;
  const all = { inA: targets.inA, inB: targets.inB };
  const isVisible = (target: Person, org: string): boolean => org === rootOrgId || hasOrgRole(target, org);
  const seen =
    (target: Person): Rule =>
    (person, org) =>
      reads(person, org) && !isVisible(target, org)
        ? refuse(404, 'no member of the organization')
        : readers(200)(person, org);
  /** The contract does not say what a user outside the selected organization is for a SystemAdmin. */
  const changed =
    (target: Person, status: number): Rule =>
    (person, org) =>
      administrators(...(isVisible(target, org) ? [status] : [status, 404]))(person, org);
  const inOrganization = { mustBeInOrganization: true } as const;
  return [
    { method: 'GET', path, judge: readers(200), ...inOrganization },
    { method: 'POST', path, body: {}, judge: managers(400), ...inOrganization },
    { method: 'DELETE', path, ...nowhere, judge: never(405, 'users are deleted one by one') },
    ...Object.values(all).flatMap((target): AccessRoute[] => {
      const id = userIds.get(target.username)!;
      return [
        { method: 'GET', path: one, id, judge: seen(target), ...inOrganization },
        { method: 'PUT', path: one, id, body: {}, judge: changed(target, 400) },
        { method: 'PATCH', path: one, id, body: { is_active: 'perhaps' }, judge: changed(target, 400) },
        { method: 'PUT', path: `${one}unblock/`, id, body: {}, judge: changed(target, 200) },
        { method: 'PATCH', path: `${one}unblock/`, id, body: {}, judge: changed(target, 200) },
      ];
    }),
    { method: 'GET', path: one, id: unknownId, judge: readers(404), ...inOrganization },
    { method: 'PATCH', path: one, id: unknownId, body: {}, judge: administrators(404) },
    {
      method: 'GET',
      path: one,
      id: 'own user',
      judge: (person, org) =>
        reads(person, org) && !isVisible(person, org)
          ? refuse(404, 'no member of the organization')
          : readers(200)(person, org),
      ...inOrganization,
    },
    { method: 'DELETE', path: one, id: 'own user', judge: never([403, 404], 'nobody deletes oneself') },
    { method: 'DELETE', path: one, id: 'new user', judge: administrators(204, 404) },
  ];
}

function own({ userIds, accessKeys, targets, sessionInA }: Facts): AccessRoute[] {
  const profile = `${v1}/users/profile/`;
  const keys = `${v1}/authentication/access-keys/`;
  const sessions = `${v1}/authentication/sessions/`;
  const foreign = accessKeys.get(targets.inA.username)!;
  const notOwn = never(404, "another's");
  return [
    { method: 'GET', path: profile, judge: anybody(200) },
    { method: 'PUT', path: profile, body: {}, judge: anybody(400) },
    { method: 'PATCH', path: profile, body: { comment: 'seen' }, judge: anybody(200) },
    { method: 'PUT', path: `${profile}password/`, body: {}, judge: anybody(400) },
    { method: 'GET', path: keys, judge: anybody(200) },
    { method: 'POST', path: keys, body: { ip_group: 'nowhere' }, judge: anybody(400) },
    { method: 'POST', path: keys, body: {}, headers: { 'Idempotency-Key': 'matrix' }, judge: anybody(400) },
    ...['GET', 'PUT', 'PATCH', 'DELETE'].flatMap((method): AccessRoute[] => [
      {
        method,
        path: `${keys}{id}/`,
        id: foreign,
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
        judge: notOwn,
      },
      {
        method,
        path: `${keys}{id}/`,
        id: unknownId,
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
        judge: notOwn,
      },
    ]),
    { method: 'GET', path: `${keys}{id}/`, id: 'own key', judge: anybody(200) },
    { method: 'PATCH', path: `${keys}{id}/`, id: 'own key', body: { is_active: 'perhaps' }, judge: anybody(400) },
    { method: 'GET', path: sessions, judge: anybody(200) },
    { method: 'GET', path: `${sessions}current/`, needsSession: true, judge: anybody(200) },
    { method: 'DELETE', path: sessions, needsSession: true, endsSession: true, judge: never(404, 'no session') },
    { method: 'DELETE', path: `${sessions}{id}/`, id: sessionInA, judge: notOwn },
    { method: 'DELETE', path: `${sessions}{id}/`, id: unknownId, judge: notOwn },
    { method: 'DELETE', path: `${sessions}{id}/`, id: 'new session', judge: anybody(204) },
    { method: 'GET', path: `${v1}/audits/my-login-logs/`, judge: anybody(200) },
    { method: 'GET', path: `${v1}/audits/login-logs/`, judge: readers(200), mustBeInOrganization: true },
    { method: 'GET', path: `${v1}/audits/operate-logs/`, judge: readers(200), mustBeInOrganization: true },
    {
      method: 'GET',
      path: `${v1}/users/users/{id}/nothing/`,
      id: userIds.get(targets.inA.username)!,
      ...nowhere,
      judge: never(404, 'no such path'),
    },
  ];
}

function orgs({ orgs: { a, empty } }: Facts): AccessRoute[] {
  const path = `${v1}/orgs/orgs/`;
  const one = `${path}{id}/`;
  /** The contract does not say whether a record without access differs from a missing one. */
  const seen =
    (org: string): Rule =>
    (person) =>
      isSystemReader(person) || hasOrgRole(person, org)
        ? allow([200], 'a part in it')
        : refuse([403, 404], 'no part in it');
  const changed =
    (org: string, ...status: number[]): Rule =>
    (person) =>
      isAdministrator(person)
        ? allow(status, 'SystemAdmin')
        : refuse(isSystemReader(person) || hasOrgRole(person, org) ? 403 : [403, 404], 'SystemAdmin alone');
  return [
    { method: 'GET', path, judge: anybody(200) },
    { method: 'POST', path, body: {}, judge: administrators(400) },
    { method: 'GET', path: `${path}current/`, judge: anybody(200), mustBeInOrganization: true },
    { method: 'GET', path: one, id: a, judge: seen(a) },
    { method: 'GET', path: one, id: empty, judge: seen(empty) },
    { method: 'GET', path: one, id: rootOrgId, judge: seen(rootOrgId) },
    { method: 'PUT', path: one, id: a, body: { name: '' }, judge: changed(a, 400) },
    { method: 'PATCH', path: one, id: a, body: { name: '' }, judge: changed(a, 400) },
    { method: 'PATCH', path: one, id: rootOrgId, body: { comment: 'x' }, judge: never([403, 404], 'built in') },
    { method: 'DELETE', path: one, id: a, judge: changed(a, 409) },
    { method: 'DELETE', path: one, id: rootOrgId, judge: never([403, 404], 'built in') },
    { method: 'DELETE', path: one, id: unknownId, judge: changed(unknownId, 404) },
  ];
}

function roles({ bindings, orgs: { a, b }, targets, userIds }: Facts): AccessRoute[] {
  const system = `${v1}/rbac/system-role-bindings/`;
  const org = `${v1}/rbac/org-role-bindings/`;
  const role = `${v1}/rbac/roles/`;
  const member = (target: Person, of: string): Record<string, string> => ({
    user: userIds.get(target.username)!,
    role: 'OrgUser',
    org: of,
  });
  /** The binding's organization counts. */
  const of =
    (id: string, may: (person: Person, org: string) => boolean, ...status: number[]): Rule =>
    (person) =>
      may(person, id) ? allow(status, 'of that organization') : refuse([403, 404], 'not of that organization');
  const readsAny = (person: Person): boolean =>
    isSystemReader(person) || orgsOf(person).some((each) => reads(person, each));
  return [
    { method: 'GET', path: role, judge: anybody(200) },
    { method: 'GET', path: `${role}{id}/`, id: '00000000-0000-0000-0000-000000000005', judge: anybody(200) },
    { method: 'GET', path: `${role}{id}/`, id: unknownId, judge: never(404, 'no such role') },
    { method: 'GET', path: system, judge: systemReaders(200) },
    { method: 'POST', path: system, body: {}, judge: administrators(400) },
    {
      method: 'POST',
      path: system,
      body: { user: userIds.get('auditor')!, role: 'SystemAuditor' },
      judge: administrators(400),
    },
    { method: 'GET', path: `${system}{id}/`, id: bindings.system, judge: systemReaders(200) },
    {
      method: 'PATCH',
      path: `${system}{id}/`,
      id: bindings.system,
      body: {},
      ...nowhere,
      judge: never(405, 'bindings are not changed'),
    },
    // An auditor sees records, and may learn that one is missing.
    {
      method: 'DELETE',
      path: `${system}{id}/`,
      id: unknownId,
      judge: (person) =>
        isAdministrator(person)
          ? allow([404], 'SystemAdmin')
          : refuse(isSystemReader(person) ? [403, 404] : 403, 'SystemAdmin alone'),
    },
    {
      method: 'GET',
      path: org,
      listsOfAll: true,
      judge: (person, selected) =>
        permit(selected === '' ? readsAny(person) : reads(person, selected), [200], 'administrators and auditors'),
    },
    { method: 'POST', path: org, body: member(targets.inA, a), namesOrganization: true, judge: of(a, manages, 400) },
    { method: 'POST', path: org, body: member(targets.inB, b), namesOrganization: true, judge: of(b, manages, 400) },
    { method: 'GET', path: `${org}{id}/`, id: bindings.inA, judge: of(a, reads, 200, 404) },
    { method: 'GET', path: `${org}{id}/`, id: bindings.inB, judge: of(b, reads, 200, 404) },
    { method: 'DELETE', path: `${org}{id}/`, id: 'new member', judge: of(a, manages, 204, 404) },
    { method: 'DELETE', path: `${org}{id}/`, id: unknownId, judge: never([403, 404], 'no such binding') },
  ];
}

function open(): AccessRoute[] {
  const login = `${v1}/authentication/auth/`;
  const undocumented = { isUndocumented: true } as const;
  return [
    {
      method: 'POST',
      path: `${v1}/authentication/tokens/`,
      body: {},
      isOpen: true,
      ignoresSession: true,
      ...undocumented,
      judge: anybody(400),
    },
    { method: 'POST', path: login, body: {}, isOpen: true, ignoresSession: true, judge: anybody(400) },
    {
      method: 'POST',
      path: `${v1}/authentication/sessions/`,
      body: {},
      isOpen: true,
      ignoresSession: true,
      refusesForeignPages: true,
      judge: anybody(400),
    },
    { method: 'GET', path: login, ...nowhere, judge: never(405, 'a login is posted') },
    { method: 'GET', path: '/api/docs/', isOpen: true, ...undocumented, judge: anybody(200) },
    { method: 'GET', path: '/api/openapi.json', isOpen: true, ...undocumented, judge: anybody(200) },
    { method: 'GET', path: '/login/', isOpen: true, ...undocumented, judge: anybody(200, 303) },
    {
      method: 'POST',
      path: '/login/',
      body: {},
      isOpen: true,
      ignoresSession: true,
      ...undocumented,
      judge: never(403, 'no form of ours'),
    },
    ...['', 'password/', 'access-keys/', 'personal-tokens/', 'sessions/'].map((part): AccessRoute => ({
      method: 'GET',
      path: `/settings/${part}`,
      isPage: true,
      ...undocumented,
      judge: anybody(200),
    })),
    { method: 'POST', path: '/settings/password/', body: {}, isPage: true, ...undocumented, judge: anybody(400) },
    ...['/metrics', '/debug/flags/log-level'].map((path): AccessRoute => ({
      method: 'GET',
      path,
      ...undocumented,
      judge: administrators(200),
    })),
    { method: 'GET', path: `${v1}/nothing/`, ...nowhere, judge: never(404, 'no such path') },
  ];
}
