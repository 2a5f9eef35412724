import { newDetail, newOrgNotFound, newPermissionDenied } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import { hasRoleIn, isAuditor, type OrgRole, type Principal } from '../http/caller.ts';
import type { OperationPermission } from '../operations/permission.ts';
import { defaultOrgId, type Organization } from './organization.ts';
import type { Organizations } from './organizations.ts';

/**
 * Permits callers with one of the roles in the selected organization; without arguments, with any role there.
 * SystemAdmin is OrgAdmin of every organization, SystemAuditor OrgAuditor.
 */
export const inOrganization = (
  organizations: Pick<Organizations, 'find'>,
  ...roles: readonly OrgRole[]
): OperationPermission<Organization> => ({
  check: async (call) => {
    const organization = await selectOrg(call, organizations);
    if (roles.length > 0 && !hasRoleIn(call.caller, organization.id, ...roles)) throw newPermissionDenied();
    return organization;
  },
});

type OrgCall = Pick<Call, 'caller' | 'request' | 'query'>;

/**
 * The organization of a call: the requested one, else the caller's only one, else DEFAULT. Throws 400 for two values,
 * 404 for an unknown one, 403 if the caller has no role in it. ROOT needs a system role.
 */
export async function selectOrg(call: OrgCall, organizations: Pick<Organizations, 'find'>): Promise<Organization> {
  const organization = await organizations.find(requestedOrg(call) ?? defaultOrg(call.caller));
  if (organization === undefined) throw newOrgNotFound();
  if (!isAuditor(call.caller) && !call.caller.orgRoles.has(organization.id))
    throw newPermissionDenied('You have no role in this organization.');
  return organization;
}

/**
 * Id or name of the requested organization: query parameter `oid`, header X-SVC-ORG, or the cookie of that name;
 * undefined if there is none.
 */
export function requestedOrg({ query, request }: Pick<OrgCall, 'query' | 'request'>): string | undefined {
  const [oid = '', ...more] = query.getAll('oid');
  if (more.length > 0) throw newTwoOrganizations('oid');
  if (oid !== '') return oid;
  // Node joins repeated headers with a comma, which no name contains.
  const header = utf8(request.header('x-svc-org')).trim();
  if (header.includes(',')) throw newTwoOrganizations('X-SVC-ORG');
  const cookie = utf8(request.cookies.get('X-SVC-ORG') ?? '');
  return [header, cookie].find((text) => text !== '');
}

function defaultOrg({ orgRoles }: Principal): string {
  const [only, ...others] = orgRoles.keys();
  return only === undefined || others.length > 0 ? defaultOrgId : only;
}

const newTwoOrganizations = (where: string): Error => newDetail(400, 'invalid', `${where} takes one organization.`);

/** Node gives header bytes as one character each. */
const utf8 = (header: string): string => Buffer.from(header, 'latin1').toString('utf8');
