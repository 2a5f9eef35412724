import { groupResource, newForbidden } from '#pkg/apimachinery/index';
import { leaseModel, systemNamespace } from '#pkg/apis/index';
import type { WriteContext } from '../../rest/write-context.ts';
import type { JsonApiObject, Strategy } from '../../rest/strategy.ts';
import type { RoleIndex } from '../role-index.ts';

/** Prefix of the Leases in which API servers publish the keys that sign their calls to each other. */
const serverLeasePrefix = 'svc-apiserver-';
/** Prefix of the Leases in which controllers store their positions. */
const positionPrefix = 'resume-';

/**
 * Leases in the platform's namespace: plugins may write only those with their positions. Any other, such as the leader
 * lease of the controllers, requires permission to update Leases in all namespaces. A writer of an API server's Lease
 * can sign calls as any user, so that requires permission to impersonate all users.
 */
export class LeaseStrategy implements Strategy {
  readonly #roles: RoleIndex;

  constructor(roles: RoleIndex) {
    this.#roles = roles;
  }

  async authorize({ metadata }: JsonApiObject, _old: JsonApiObject | undefined, { user }: WriteContext): Promise<void> {
    const { name, namespace } = metadata;
    if (namespace !== systemNamespace || name.startsWith(positionPrefix)) return;
    if (!name.startsWith(serverLeasePrefix)) {
      if (
        this.#roles.allows({
          user,
          verb: 'update',
          group: leaseModel.group,
          version: 'v1',
          resource: leaseModel.names.plural,
          subresource: '',
          namespace: '',
          name: '',
          isResourceRequest: true,
          path: '',
        })
      )
        return;
      throw newForbidden(
        groupResource(leaseModel),
        name,
        `in the namespace ${JSON.stringify(systemNamespace)} writing a Lease whose name does not begin with ${JSON.stringify(positionPrefix)} needs the right to update Leases in all namespaces`,
      );
    }
    if (
      this.#roles.missingRules(user, [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users', 'groups'] }])
        .length === 0
    )
      return;
    throw newForbidden(
      groupResource(leaseModel),
      name,
      'it makes an API server known, whose calls are believed whoever they say asks: writing it needs the right to impersonate all users and groups',
    );
  }
}
