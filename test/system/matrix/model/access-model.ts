import { identifyOnAccess, type Credential } from './credential.ts';
import { choose, type OrgChoice, type OrgNames } from './org-choice.ts';
import type { Person } from './person.ts';
import { allow, refuse, type Verdict } from './verdict.ts';

/**
 * What an authenticated user may do by their roles in the selected organization (undefined if the operation belongs to
 * none).
 */
export type Rule = (person: Person, org: string) => Verdict;

/** One request to the access service, without its sender and organization. */
export interface AccessOperation {
  readonly method: string;
  /** As in the served document; `{id}` is any identifier. */
  readonly path: string;
  /** Open to all, even with a stale session. */
  readonly isOpen?: true;
  /** Whether it is about the selected organization, as the document says, unless the body names another. */
  readonly isInOrganization: boolean;
  /** The login: contract, "whatever valid session or header came along". */
  readonly ignoresSession?: true;
  /** A login that sets cookies: pages of other sites are refused, with or without a session. */
  readonly refusesForeignPages?: true;
  /** It is about the session of the request; with another credential there is none. */
  readonly needsSession?: true;
  readonly judge: Rule;
}

export interface AccessQuestion {
  readonly operation: AccessOperation;
  readonly credential: Credential;
  readonly person: Person;
  /** The session's owner, if it is not the person. */
  readonly another: Person;
  readonly choice: OrgChoice;
  readonly orgs: OrgNames;
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The required response of the access service: contract access-api.md, sections 2, 3 and 5. */
export function judgeAccess({ operation, credential, person, another, choice, orgs }: AccessQuestion): Verdict {
  const identity = identifyOnAccess(credential, person, another, operation.path);
  if (identity === 'not_authenticated' || identity === 'authentication_failed')
    return refuse(
      401,
      'a header that is not good, even where nothing is needed',
      credential.header?.fault === 'sent twice' ? undefined : identity,
    );
  if (identity === 'anonymous' && operation.isOpen !== true) return refuse(401, 'nobody', 'not_authenticated');
  const { session } = credential;
  const isSessionsChange =
    identity !== 'anonymous' &&
    identity.via === 'session' &&
    !safeMethods.has(operation.method) &&
    operation.ignoresSession !== true;
  if (isSessionsChange && session?.csrf !== 'header' && session?.csrf !== 'form')
    return refuse(403, 'a session without its CSRF token', 'csrf_failed');
  if (isSessionsChange && session?.origin === 'foreign')
    return refuse(403, "a session's change asked for by a page of another address", 'csrf_failed');
  if (operation.refusesForeignPages === true && session?.origin === 'foreign')
    return refuse(403, 'a login asked for by a page of another address', 'csrf_failed');
  if (operation.needsSession === true && identity !== 'anonymous' && identity.via !== 'session')
    return refuse(404, 'no session');
  const caller = identity === 'anonymous' ? nobody : identity.person;
  const org = operation.isInOrganization ? choose(choice, caller, orgs) : '';
  return typeof org === 'string' ? operation.judge(caller, org) : alsoRefusedOtherwise(org, operation, caller);
}

/** If the role is not enough in any organization, the contract does not say which refusal is reported. */
function alsoRefusedOtherwise(verdict: Verdict, operation: AccessOperation, caller: Person): Verdict {
  const byRole = operation.judge(caller, '');
  return byRole.allowed || byRole.status.every((status) => verdict.status.includes(status))
    ? verdict
    : refuse([...verdict.status, ...byRole.status], verdict.why);
}

const nobody: Person = { username: '', systemRoles: [], orgRoles: {}, groups: [], isAlive: false };

/** An allowed request and its statuses, or 403 `permission_denied`. */
export function permit(may: boolean, status: readonly number[], why: string): Verdict {
  return may ? allow(status, why) : refuse(403, why, 'permission_denied');
}
