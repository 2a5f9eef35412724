import { newServiceUnavailable } from '#pkg/apimachinery/index';
import { systemMasters, type Attributes, type Authorizer, type Decision } from '#pkg/identity/index';
import { notAllowed } from './with-page.ts';
import type { RoleIndex } from './role-index.ts';

export interface RbacAuthorizerOptions {
  /** A replica that may have missed changes for longer than this denies. Milliseconds; default 5000. */
  maxLagMs?: number;
}

const allowed = Promise.resolve<Decision>({ allowed: true, reason: '' });
const denied = Promise.resolve<Decision>({ allowed: false, reason: '' });

/**
 * Authorizes by roles and bindings, as Kubernetes does; `system:masters` has every permission. A user's restriction
 * reduces the permissions of any user, and so does the page of a plugin. If the known roles may be outdated, requests of all users but an unrestricted
 * `system:masters` are answered 503 with Retry-After: another replica, or this one later, can decide.
 */
export class RbacAuthorizer implements Authorizer {
  readonly #roles: RoleIndex;
  readonly #maxLagMs: number;

  constructor(roles: RoleIndex, { maxLagMs = 5000 }: RbacAuthorizerOptions = {}) {
    this.#roles = roles;
    this.#maxLagMs = maxLagMs;
  }

  authorize(attributes: Attributes): Promise<Decision> {
    const { user } = attributes;
    const { page, restriction } = user;
    const isOpen = page === undefined && restriction === undefined;
    if (isOpen && user.groups.includes(systemMasters)) return allowed;
    if (this.#roles.lagMs > this.#maxLagMs)
      return Promise.reject(newServiceUnavailable('the newest permissions cannot be read at present'));
    if (this.#roles.allows(attributes)) return allowed;
    if (page !== undefined && !this.#roles.pageAllows(page, attributes))
      return Promise.resolve({ allowed: false, reason: notAllowed(page) });
    if (restriction === undefined || !this.#roles.allowsOwner(attributes)) return denied;
    return Promise.resolve({ allowed: false, reason: 'the credential is narrowed to roles that do not allow it' });
  }
}

/** Allows everything to `system:masters`, and nothing to others. Source: Kubernetes' privileged group. */
export class MastersAuthorizer implements Authorizer {
  async authorize({ user }: Attributes): Promise<Decision> {
    return { allowed: user.page === undefined && user.groups.includes(systemMasters), reason: '' };
  }
}
