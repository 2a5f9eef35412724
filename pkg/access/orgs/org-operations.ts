import { newOrgNotFound, newPermissionDenied } from '../http/access-error.ts';
import { listAnswer } from '../http/list-answer.ts';
import { jsonAnswer, noContent, type AccessResponse, type Call, type Operation } from '../http/operation.ts';
import { isAdministrator, isAuditor } from '../http/caller.ts';
import { listOrgs } from './list-orgs.ts';
import { orgDocuments } from './org-documents.ts';
import { presentOrganization, type Organization } from './organization.ts';
import type { OrgParts } from './org-parts.ts';
import { removeOrg } from './remove-org.ts';
import { selectOrg } from './select-org.ts';
import { changeOrg, createOrg } from './write-org.ts';

type Handle = (call: Call, parts: OrgParts) => Promise<AccessResponse>;

const all = '/api/v1/orgs/orgs/';
const one = `${all}{id}/`;

/**
 * `/api/v1/orgs/orgs/`: those the caller has a role in; for who may see everything all of them, ROOT and DEFAULT among
 * them.
 */
export function orgOperations(parts: OrgParts): Operation[] {
  const handledBy = (handle: Handle) => ({ access: 'user', handle: (call: Call) => handle(call, parts) }) as const;
  return [
    { method: 'GET', path: all, operationId: 'listOrganizations', document: orgDocuments.list, ...handledBy(list) },
    {
      method: 'POST',
      path: all,
      operationId: 'createOrganization',
      document: orgDocuments.create,
      ...handledBy(create),
    },
    {
      method: 'GET',
      path: `${all}current/`,
      operationId: 'currentOrganization',
      document: orgDocuments.current,
      ...handledBy(current),
    },
    { method: 'GET', path: one, operationId: 'readOrganization', document: orgDocuments.read, ...handledBy(read) },
    {
      method: 'PUT',
      path: one,
      operationId: 'replaceOrganization',
      document: orgDocuments.replace,
      ...handledBy(change(true)),
    },
    {
      method: 'PATCH',
      path: one,
      operationId: 'updateOrganization',
      document: orgDocuments.update,
      ...handledBy(change(false)),
    },
    {
      method: 'DELETE',
      path: one,
      operationId: 'deleteOrganization',
      document: orgDocuments.remove,
      ...handledBy(remove),
    },
  ];
}

const list: Handle = (call, { database }) => listAnswer(call, listOrgs(call.query, call.caller, database.kysely));

const create: Handle = async (call, parts) => {
  if (!isAdministrator(call.caller)) throw newPermissionDenied();
  return jsonAnswer(201, presentOrganization(await createOrg(call, parts)));
};

const current: Handle = async (call, { organizations }) => answerOf(await selectOrg(call, organizations));

const read: Handle = async (call, parts) => answerOf(await findVisible(call, parts));

const change =
  (isWhole: boolean): Handle =>
  async (call, parts) =>
    answerOf(await changeOrg(call, await findOwn(call, parts), isWhole, parts));

const remove: Handle = async (call, parts) => {
  await removeOrg(call, await findOwn(call, parts), parts);
  return noContent;
};

const answerOf = (organization: Organization): AccessResponse => jsonAnswer(200, presentOrganization(organization));

/** Throws 404 also for one that is not the caller's to see. */
async function findVisible({ caller, params }: Call, { organizations }: OrgParts): Promise<Organization> {
  const organization = await organizations.find(params['id']!);
  if (organization === undefined || !(isAuditor(caller) || caller.orgRoles.has(organization.id)))
    throw newOrgNotFound();
  return organization;
}

/** To change or delete: by an administrator, and none of those that come with the system. */
async function findOwn(call: Call, parts: OrgParts): Promise<Organization> {
  if (!isAdministrator(call.caller)) throw newPermissionDenied();
  const organization = await findVisible(call, parts);
  if (organization.builtin) throw newPermissionDenied('A built-in organization cannot be changed or deleted.');
  return organization;
}
