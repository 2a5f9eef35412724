import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery } from '../access-tables.ts';
import { actorOf } from '../audit/audit.ts';
import { isAccessError, newAccessConflict, newOrgNotFound, newAccessUnavailable } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import type { Organization } from './organization.ts';
import type { OrgParts } from './org-parts.ts';

/**
 * Removes the organization and its namespace. Throws 409 if it has members, or its namespace holds objects, and 503 if
 * the platform cannot be reached.
 */
export async function removeOrg(
  call: Call,
  { id, name }: Organization,
  { audit, names, namespaces }: OrgParts,
): Promise<void> {
  const check = async (on: Queryable): Promise<void> => {
    const organization = accessQuery
      .selectFrom('access.organizations as o')
      .select((eb) =>
        eb
          .exists(eb.selectFrom('access.org_role_bindings').select('id').whereRef('org_id', '=', 'o.id'))
          .as('has_members'),
      )
      .where('o.id', '=', id);
    const { rows } = await runQuery(on, organization, 'organization-has-members');
    if (rows[0] === undefined) throw newOrgNotFound();
    if (rows[0].has_members)
      throw newAccessConflict('The organization still has members: take their roles away first.');
  };
  const removeRow = async (on: Queryable): Promise<void> => {
    await runQuery(on, accessQuery.deleteFrom('access.organizations').where('id', '=', id), 'organization-delete');
    await audit.recordOperation(
      { ...actorOf(call), action: 'delete', resourceType: 'organization', resource: name, orgId: id },
      on,
    );
  };
  const outcome = await namespaces.remove(id, { check, removeRow }).catch((error: unknown) => {
    if (isAccessError(error)) throw error;
    call.request.context.log.warn(
      { err: error, organization: id },
      'could not delete the namespace of an organization; the organization is kept',
    );
    throw newAccessUnavailable();
  });
  if (outcome === 'in use')
    throw newAccessConflict('The namespace of the organization still holds objects: delete them first.');
  await names.adoptAfterRelease();
}
