import { newOrgNotFound, newPermissionDenied } from '../http/access-error.ts';
import { isAuditor } from '../http/caller.ts';
import { defineList, defineOperation } from '../operations/define-operation.ts';
import type { Call, Operation, OperationDeclaration } from '../operations/operation.ts';
import { administrators, anyUser } from '../operations/permission.ts';
import { listOrgs, orgFilters } from './list-orgs.ts';
import { organizationRecord, presentOrganization, type Organization } from './organization.ts';
import type { OrgParts } from './org-parts.ts';
import { removeOrg } from './remove-org.ts';
import { inOrganization } from './select-org.ts';
import { changeOrg, createOrg, orgChangeFields, orgFields } from './write-org.ts';

const all = '/api/v1/orgs/orgs/';
const one = `${all}{id}/`;
const tag = 'Organizations';
const answers = { 200: organizationRecord };

/**
 * `/api/v1/orgs/orgs/`: organizations in which the caller has a role; all of them, with ROOT and DEFAULT, for callers
 * who may read everything.
 */
export function orgOperations(parts: OrgParts): Operation[] {
  const changeOperation = (
    declaration: Pick<OperationDeclaration, 'method' | 'operationId' | 'summary'> & {
      body: typeof orgFields | typeof orgChangeFields;
    },
  ): Operation =>
    defineOperation({
      path: one,
      description: 'For SystemAdmin. The built-in organizations stay as they are.',
      tag,
      permission: administrators,
      answers,
      ...declaration,
      handle: async (call) => {
        const organization = await findOwn(call, parts);
        return presentOrganization(await changeOrg(call, organization, (await call.readBody()).done(), parts));
      },
    });
  return [
    defineList({
      path: all,
      operationId: 'listOrganizations',
      summary: 'Organizations I have a role in',
      description: 'For SystemAdmin and SystemAuditor: all of them.',
      tag,
      permission: anyUser,
      record: organizationRecord,
      query: orgFilters,
      list: (call) => listOrgs(call.readQuery().done(), call.caller, parts.database.kysely),
    }),
    defineOperation({
      method: 'POST',
      path: all,
      operationId: 'createOrganization',
      summary: 'Create an organization',
      description: 'For SystemAdmin. It is the namespace `org-<id>` of the content platform.',
      tag,
      permission: administrators,
      body: orgFields,
      answers: { 201: organizationRecord },
      handle: async (call) => presentOrganization(await createOrg(call, (await call.readBody()).done(), parts)),
    }),
    defineOperation({
      method: 'GET',
      path: `${all}current/`,
      operationId: 'currentOrganization',
      summary: 'The organization in which a call is made',
      tag,
      inOrganization: true,
      permission: inOrganization(parts.organizations),
      answers,
      handle: async (_, organization) => presentOrganization(organization),
    }),
    defineOperation({
      method: 'GET',
      path: one,
      operationId: 'readOrganization',
      summary: 'An organization',
      description: 'By id or name.',
      tag,
      permission: anyUser,
      answers,
      handle: async (call) => presentOrganization(await findVisible(call, parts)),
    }),
    changeOperation({
      method: 'PUT',
      operationId: 'replaceOrganization',
      summary: 'Change an organization',
      body: orgFields,
    }),
    changeOperation({
      method: 'PATCH',
      operationId: 'updateOrganization',
      summary: 'Change something of an organization',
      body: orgChangeFields,
    }),
    defineOperation({
      method: 'DELETE',
      path: one,
      operationId: 'deleteOrganization',
      summary: 'Delete an organization',
      description: 'For SystemAdmin. 409 while it has members, or its namespace holds objects.',
      tag,
      permission: administrators,
      answers: { 204: null, 409: null },
      handle: async (call) => removeOrg(call, await findOwn(call, parts), parts),
    }),
  ];
}

/** Throws 404 also for one that the caller may not read. */
async function findVisible({ caller, params }: Call, { organizations }: OrgParts): Promise<Organization> {
  const organization = await organizations.find(params['id']!);
  if (organization === undefined || !(isAuditor(caller) || caller.orgRoles.has(organization.id)))
    throw newOrgNotFound();
  return organization;
}

/** For changes and deletion; refuses the built-in organizations. */
async function findOwn(call: Call, parts: OrgParts): Promise<Organization> {
  const organization = await findVisible(call, parts);
  if (organization.builtin) throw newPermissionDenied('A built-in organization cannot be changed or deleted.');
  return organization;
}
