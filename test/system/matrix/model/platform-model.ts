import { identifyOnPlatform, type Credential } from './credential.ts';
import { hasSystemRole, orgsOf, type Person } from './person.ts';
import {
  holdsAll,
  isAllowed,
  masters,
  rulesOf,
  type Attributes,
  type Binding,
  type Requester,
  type RoleBook,
  type Rule,
} from './rbac.ts';
import { allow, refuse, type Verdict } from './verdict.ts';

/** A grant in a request, which its sender must hold: rules, or a role in a binding. */
export type Grant =
  | { readonly rules: readonly Rule[]; readonly of: 'clusterroles' | 'roles' }
  | { readonly role: Binding['role'] }
  /** The key of an API server, which may name any user. */
  | { readonly anybody: true };

export interface PlatformOperation {
  readonly method: string;
  /** The authorizer's attributes; `open` allows anonymous users, `probe` ignores even the header. */
  readonly asks: Attributes | 'open' | 'probe';
  readonly grants?: Grant;
  /** Docs: personal tokens are not for impersonated users. */
  readonly isForOneself?: true;
  /** A new token is restricted to this ClusterRole. */
  readonly narrowsTo?: string;
  /** The status if it is allowed. */
  readonly status: readonly number[];
}

/** `Impersonate-User` and `Impersonate-Group`. */
export interface Impersonation {
  readonly username: string;
  readonly groups: readonly string[];
}

export interface PlatformQuestion {
  readonly operation: PlatformOperation;
  readonly credential: Credential;
  readonly person: Person;
  readonly isBasicOn: boolean;
  readonly impersonation?: Impersonation;
  readonly book: RoleBook;
}

const authenticated = 'system:authenticated';

/** A person as the platform sees them. */
export function requesterOf(person: Person, restriction?: string): Requester {
  const orgGroups = orgsOf(person).flatMap((org) => person.orgRoles[org]!.map((role) => `org:${org}:${role}`));
  const system = [
    ...(hasSystemRole(person, 'SystemAdmin') ? [masters] : []),
    ...(hasSystemRole(person, 'SystemAuditor') ? ['svc:system-auditors'] : []),
  ];
  return {
    username: person.username,
    groups: [...person.groups, ...orgGroups, ...system, authenticated],
    ...(restriction === undefined ? {} : { restriction: [restriction] }),
  };
}

/** The required response of the content platform: contract extension-api.md, section 7. */
export function judgePlatform({
  operation,
  credential,
  person,
  isBasicOn,
  impersonation,
  book,
}: PlatformQuestion): Verdict {
  const { asks, method, status, grants, isForOneself, narrowsTo } = operation;
  if (credential.header?.fault === 'sent twice')
    return refuse(400, "Authorization twice: malformed before it is anybody's");
  const identity = asks === 'probe' ? 'anonymous' : identifyOnPlatform(credential, person, isBasicOn);
  if (identity === 'authentication_failed' || identity === 'not_authenticated')
    return refuse(401, 'a header that is not good, even where nothing is needed');
  if (identity === 'anonymous' && impersonation !== undefined && typeof asks === 'string')
    return refuse(403, 'nobody, who may impersonate nobody');
  if (identity === 'anonymous') return typeof asks === 'string' ? allow(status, 'open') : refuse(401, 'nobody');
  const { session } = credential;
  if (
    identity.via === 'session' &&
    method !== 'GET' &&
    method !== 'HEAD' &&
    (session?.csrf !== 'header' || session.origin !== 'same')
  )
    return refuse(403, "a session's write without its CSRF token, or from elsewhere");
  const real = requesterOf(person, identity.via === 'header' ? credential.restriction : undefined);
  if (impersonation !== undefined && !mayImpersonate(book, real, impersonation))
    return refuse(403, 'may not impersonate');
  // A restricted credential stays restricted during impersonation.
  const narrowed = real.restriction === undefined ? {} : { restriction: real.restriction };
  const requester: Requester =
    impersonation === undefined
      ? real
      : { username: impersonation.username, groups: [...impersonation.groups, authenticated], ...narrowed };
  if (typeof asks === 'string') return allow(status, 'open');
  if (impersonation !== undefined && isForOneself === true)
    return refuse(403, 'not for those who act as somebody else');
  if (!isAllowed(book, requester, asks)) return refuse(403, 'no role allows it');
  if (narrowsTo !== undefined && person.isService === true)
    return refuse(403, 'its tokens are made by the operator alone');
  if (grants !== undefined && !mayGrant(book, requester, grants, 'path' in asks ? undefined : asks.namespace))
    return refuse(403, 'would grant what the sender has not');
  return narrowsTo === undefined
    ? allow(status, 'a role allows it')
    : judgeNarrowing(book, requester, narrowsTo, status);
}

/**
 * For a new token: a role that its creator has, by a binding or by all of its rules, and which, if a restricted token
 * creates it, is not wider. A role that applies only in a namespace, and a role within the own ones, may be accepted or
 * not: neither grants more.
 */
function judgeNarrowing(book: RoleBook, requester: Requester, role: string, status: readonly number[]): Verdict {
  const { username, groups, restriction } = requester;
  const owner = { username, groups };
  const rules = rulesOf(book, { kind: 'ClusterRole', name: role }) ?? [];
  const bindings = book.bindings.filter(
    (binding) =>
      binding.role.kind === 'ClusterRole' &&
      binding.role.name === role &&
      binding.subjects.some(({ kind, name }) => (kind === 'User' ? name === username : groups.includes(name))),
  );
  const namespaces = new Set(book.bindings.map(({ namespace }) => namespace));
  const isHeld = holdsAll(book, owner, rules) || bindings.some(({ namespace }) => namespace === undefined);
  const isHeldSomewhere =
    isHeld || bindings.length > 0 || [...namespaces].some((namespace) => holdsAll(book, owner, rules, namespace));
  const isKept = restriction === undefined || restriction.includes(role);
  if (
    !isHeldSomewhere ||
    (!isKept &&
      !holdsAll({ ...book, bindings: [] }, { username: '', groups: [masters], restriction: restriction ?? [] }, rules))
  )
    return refuse(422, 'a role that the maker of the token lacks');
  return allow(isHeld && isKept ? status : [...status, 422], 'a role that the maker of the token has');
}

function mayImpersonate(book: RoleBook, real: Requester, { username, groups }: Impersonation): boolean {
  const may = (resource: string, name: string): boolean =>
    isAllowed(book, real, { verb: 'impersonate', group: '', resource, name });
  return may('users', username) && groups.every((group) => may('groups', group));
}

/** Kubernetes: the user holds all of the rules, or has the verb `escalate` on roles, or `bind` on the role. */
function mayGrant(book: RoleBook, requester: Requester, grant: Grant, namespace: string | undefined): boolean {
  const may = (verb: string, resource: string, name?: string): boolean =>
    isAllowed(book, requester, {
      verb,
      group: 'rbac.authorization.k8s.io',
      resource,
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
    });
  if ('anybody' in grant)
    return ['users', 'groups'].every((resource) =>
      isAllowed(book, requester, { verb: 'impersonate', group: '', resource }),
    );
  if ('rules' in grant) return holdsAll(book, requester, grant.rules, namespace) || may('escalate', grant.of);
  const { role } = grant;
  return (
    may('bind', role.kind === 'Role' ? 'roles' : 'clusterroles', role.name) ||
    holdsAll(book, requester, rulesOf(book, role, namespace) ?? [], namespace)
  );
}
