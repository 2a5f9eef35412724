import { actorOf } from '../audit/audit.ts';
import { newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import { listAnswer } from '../http/list-answer.ts';
import { jsonAnswer, noContent, type AccessResponse, type Call, type Operation } from '../http/operation.ts';
import { accountKey, forgetFailures } from '../login/login-failures.ts';
import { rootOrgId, type Organization } from '../orgs/organization.ts';
import { askedOrg, selectOrg } from '../orgs/select-org.ts';
import { holdsIn, isAdministrator, isAuditor } from '../http/caller.ts';
import { changeUser } from './change-user.ts';
import { createUser } from './create-user.ts';
import { fold } from '../names/fold-case.ts';
import { listUsers } from './list-users.ts';
import { profileOperations } from './profile-operations.ts';
import { removeUser } from './remove-user.ts';
import { presentUser, type UserWithRoles } from './user.ts';
import { userDocuments } from './user-documents.ts';
import type { UserParts } from './user-parts.ts';

type Handle = (call: Call, parts: UserParts) => Promise<AccessResponse>;

const all = '/api/v1/users/users/';
const one = `${all}{id}/`;
const unblocking = `${one}unblock/`;

/** `/api/v1/users/`: users of the selected organization, and one's own profile. */
export function userOperations(parts: UserParts): Operation[] {
  const handledBy = (handle: Handle) => ({ access: 'user', handle: (call: Call) => handle(call, parts) }) as const;
  return [
    { method: 'GET', path: all, operationId: 'listUsers', document: userDocuments.list, ...handledBy(list) },
    { method: 'POST', path: all, operationId: 'createUser', document: userDocuments.create, ...handledBy(create) },
    { method: 'GET', path: one, operationId: 'readUser', document: userDocuments.read, ...handledBy(read) },
    {
      method: 'PUT',
      path: one,
      operationId: 'replaceUser',
      document: userDocuments.replace,
      ...handledBy(change(true)),
    },
    {
      method: 'PATCH',
      path: one,
      operationId: 'updateUser',
      document: userDocuments.update,
      ...handledBy(change(false)),
    },
    { method: 'DELETE', path: one, operationId: 'deleteUser', document: userDocuments.remove, ...handledBy(remove) },
    {
      method: 'PUT',
      path: unblocking,
      operationId: 'unblockUser',
      document: userDocuments.unblock,
      ...handledBy(unblock),
    },
    {
      method: 'PATCH',
      path: unblocking,
      operationId: 'unblockUserByPatch',
      document: userDocuments.unblock,
      ...handledBy(unblock),
    },
    ...profileOperations(parts),
  ];
}

const list: Handle = async (call, parts) => {
  const organization = await selectOrg(call, parts.organizations);
  checkReader(call, organization);
  return listAnswer(call, listUsers(call.query, organization, parts.database.kysely));
};

const create: Handle = async (call, parts) => {
  const organization = await selectOrg(call, parts.organizations);
  return jsonAnswer(201, presentUser(await createUser(call, organization, parts), organization.id));
};

const read: Handle = async (call, parts) => {
  const { user, organization } = await findTarget(call, parts);
  return jsonAnswer(200, presentUser(user, organization.id));
};

const change =
  (isWhole: boolean): Handle =>
  async (call, parts) => {
    const { user, organization } = await findTargetToChange(call, parts);
    await changeUser(call, user.id, isWhole, parts);
    const changed = await parts.users.findRecord(user.id, organization.id);
    if (changed === undefined) throw newAccessNotFound();
    return jsonAnswer(200, presentUser(changed, organization.id));
  };

const remove: Handle = async (call, parts) => {
  const { user } = await findTargetToChange(call, parts);
  await removeUser(call, user.id, parts);
  return noContent;
};

const unblock: Handle = async (call, parts) => {
  const { user, organization } = await findTargetToChange(call, parts);
  await parts.database.transaction(async (on) => {
    const keys = [user.username, ...(user.email === null ? [] : [user.email])].map((name) => accountKey(fold(name)));
    await forgetFailures(keys, on);
    await parts.audit.operate(
      { ...actorOf(call), action: 'unblock', resourceType: 'user', resource: user.username },
      on,
    );
  });
  return jsonAnswer(200, presentUser(user, organization.id));
};

function checkReader({ caller }: Call, { id }: Organization): void {
  if (!isAuditor(caller) && !holdsIn(caller, id, 'OrgAdmin', 'OrgAuditor')) throw newPermissionDenied();
}

interface Target {
  user: UserWithRoles;
  organization: Organization;
}

/** The user that the path names, if they are in the selected organization. */
async function findTarget(call: Call, parts: UserParts): Promise<Target> {
  const organization = await selectOrg(call, parts.organizations);
  checkReader(call, organization);
  return findUser(organization, call, parts);
}

async function findUser(organization: Organization, call: Call, parts: UserParts): Promise<Target> {
  const found = await findUserIn(organization, call, parts);
  if (found === undefined)
    throw newAccessNotFound(
      `There is no such user in organization ${organization.name}; ROOT has those of all organizations.`,
    );
  return found;
}

async function findUserIn(
  organization: Organization,
  { params }: Call,
  { users }: UserParts,
): Promise<Target | undefined> {
  const id = await users.resolve(params['id']!);
  const user = id === undefined ? undefined : await users.findRecord(id, organization.id);
  return user && { user, organization };
}

/**
 * Only who administers the system: a member of one organization may be one of others, too. What is done concerns the
 * whole user: a call that asks for no organization finds one who is in another than the usual one, too.
 */
async function findTargetToChange(call: Call, parts: UserParts): Promise<Target> {
  if (!isAdministrator(call.caller)) throw newPermissionDenied();
  if (askedOrg(call) !== undefined) return findTarget(call, parts);
  const usual = await selectOrg(call, parts.organizations);
  return (await findUserIn(usual, call, parts)) ?? findUser((await parts.organizations.find(rootOrgId))!, call, parts);
}
