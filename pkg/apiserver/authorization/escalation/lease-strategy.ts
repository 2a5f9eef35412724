import { groupResource, newForbidden, type StatusCause } from '#pkg/apimachinery/index';
import { leaseModel, systemNamespace } from '#pkg/apis/index';
import type { WriteContext } from '../../registry/served-resource.ts';
import type { JsonApiObject, Strategy } from '../../registry/strategy.ts';
import type { RoleIndex } from '../role-index.ts';

/** Of the Leases by which API servers make known with what keys they sign calls to each other. */
const serverLeasePrefix = 'svc-apiserver-';

/**
 * Leases: who writes that of an API server can sign calls as any user, so that takes the right to impersonate all users. Whatever gives rights on
 * Leases in the platform's namespace, to keep positions in them for one, does not give away that.
 */
export class LeaseStrategy implements Strategy {
  readonly #roles: RoleIndex;

  constructor(roles: RoleIndex) {
    this.#roles = roles;
  }

  async validate({ metadata }: JsonApiObject, _old: JsonApiObject | undefined, { user }: WriteContext): Promise<StatusCause[]> {
    const { name, namespace } = metadata;
    if (namespace !== systemNamespace || !name.startsWith(serverLeasePrefix)) return [];
    if (this.#roles.holds(user, [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups'] }]).length === 0) return [];
    throw newForbidden(groupResource(leaseModel), name, 'it makes an API server known, whose calls are believed whoever they say asks: writing it needs the right to impersonate all users and groups');
  }
}
