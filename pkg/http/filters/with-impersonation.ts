import {
  anonymousUser,
  restrictedBy,
  systemAuthenticated,
  withRestrictionFromExtra,
  type Attributes,
  type Authorizer,
  type UserInfo,
} from '#pkg/identity/index';
import { newBadRequest } from '#pkg/apimachinery/index';
import type { Filter } from '../request/request-context.ts';
import { newForbiddenRequest } from './forbidden-request.ts';

const systemUnauthenticated = 'system:unauthenticated';
const authenticationGroup = 'authentication.k8s.io';

/**
 * Runs a request as the user that its `Impersonate-` headers name. 403 unless the authenticated user may `impersonate`
 * the user, the uid, and each group and extra; 400 for invalid headers. The context's user becomes the named user with
 * only its permissions, restricted by an extra and by the restriction of the credential; `impersonator` becomes the
 * authenticated user. Must run after `withAuthentication`. The name of a service account is a user like any other.
 * Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation.
 */
export function withImpersonation(authorizer: Authorizer): Filter {
  return (next) => async (context) => {
    const impersonation = readImpersonation(context.request.rawHeaders);
    if (impersonation !== undefined) {
      for (const attributes of impersonationChecks(context.user, impersonation)) {
        const { allowed, reason } = await authorizer.authorize(attributes);
        if (!allowed) throw newForbiddenRequest(attributes, reason);
      }
      context.impersonator = context.user;
      context.user = restrictedBy(userOf(impersonation), context.user.restriction);
    }
    await next(context);
  };
}

function* impersonationChecks(
  user: UserInfo,
  { user: name, uid, groups, extra }: Impersonation,
): Generator<Attributes> {
  const common = {
    user,
    verb: 'impersonate',
    version: 'v1',
    subresource: '',
    namespace: '',
    isResourceRequest: true,
    path: '',
  };
  yield { ...common, group: '', resource: 'users', name };
  for (const group of groups) yield { ...common, group: '', resource: 'groups', name: group };
  for (const [key, values] of extra)
    for (const value of values)
      yield { ...common, group: authenticationGroup, resource: 'userextras', subresource: key, name: value };
  if (uid !== '') yield { ...common, group: authenticationGroup, resource: 'uids', name: uid };
}

/** Every user is in one of the two groups; headers may put a named user into the other. */
function userOf({ user: name, uid, groups, extra }: Impersonation): UserInfo {
  const hasGivenGroup =
    groups.includes(systemUnauthenticated) || (name !== anonymousUser.name && groups.includes(systemAuthenticated));
  const implied = name === anonymousUser.name ? systemUnauthenticated : systemAuthenticated;
  return withRestrictionFromExtra({
    name,
    uid,
    groups: hasGivenGroup ? groups : [...groups, implied],
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  });
}

/** The user that the `Impersonate-` headers of a request name. */
export interface Impersonation {
  user: string;
  uid: string;
  groups: string[];
  /** Keys in lower case. */
  extra: Map<string, string[]>;
}

const prefix = 'impersonate-';
const extraPrefix = 'extra-';

/**
 * Reads the headers of one request; undefined if none is about impersonation. Source:
 * k8s.io/apiserver/pkg/endpoints/filters/impersonation. Kubernetes ignores unknown headers and uses the first of
 * several users; both could run the request as a user that the client did not mean, so both are refused here.
 * @throws StatusError 400 for a group, uid or extra without a user, for two users or uids, an empty value, and an
 * unknown header
 */
export function readImpersonation(rawHeaders: readonly string[]): Impersonation | undefined {
  let impersonation: Impersonation | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    // Compared only where the first letter can match: this runs for every header of every request.
    if (
      name.length < prefix.length ||
      (name.charCodeAt(0) | 0x20) !== 0x69 ||
      name.slice(0, prefix.length).toLowerCase() !== prefix
    )
      continue;
    impersonation ??= { user: '', uid: '', groups: [], extra: new Map() };
    readHeader(impersonation, name, decode(name, rawHeaders[i + 1]!));
  }
  if (impersonation?.user === '')
    throw newBadRequest('the request is to impersonate without naming a user: the header Impersonate-User is missing');
  return impersonation;
}

function readHeader(impersonation: Impersonation, header: string, value: string): void {
  const name = header.slice(prefix.length).toLowerCase();
  if (name === 'group') {
    impersonation.groups.push(value);
  } else if (name === 'user' || name === 'uid') {
    if (impersonation[name] !== '') throw newBadRequest(`the header ${header} must be given once`);
    impersonation[name] = value;
  } else if (name.startsWith(extraPrefix) && name.length > extraPrefix.length) {
    const key = unescaped(name.slice(extraPrefix.length));
    const values = impersonation.extra.get(key);
    if (values === undefined) impersonation.extra.set(key, [value]);
    else values.push(value);
  } else {
    throw newBadRequest(`the header ${header} is not known: it is Impersonate-User, -Uid, -Group or -Extra-<key>`);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Node returns each byte of a header as one character. */
function decode(header: string, value: string): string {
  if (value === '') throw newBadRequest(`the header ${header} is empty`);
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    throw newBadRequest(`the header ${header} is not UTF-8`);
  }
}

/** An invalid escape is kept as it is, as in Kubernetes. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
