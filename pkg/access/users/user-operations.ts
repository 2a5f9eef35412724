import { actorOf } from '../audit/audit.ts';
import { newAccessNotFound } from '../http/access-error.ts';
import { defineList, defineOperation } from '../operations/define-operation.ts';
import { administrators } from '../operations/permission.ts';
import type { Call, Operation, OperationDeclaration } from '../operations/operation.ts';
import { accountKey, forgetFailures } from '../login/login-failures.ts';
import { rootOrgId, type Organization } from '../orgs/organization.ts';
import { requestedOrg, inOrganization, selectOrg } from '../orgs/select-org.ts';
import { changeUser, userChangeFields, userFields } from './change-user.ts';
import { createUser, newUserFields } from './create-user.ts';
import { fold } from '../names/fold-case.ts';
import { listUsers, userFilters } from './list-users.ts';
import { profileOperations } from './profile-operations.ts';
import { removeUser } from './remove-user.ts';
import { presentUser, userRecord, type UserRecord, type UserWithRoles } from './user.ts';
import type { UserParts } from './user-parts.ts';

const all = '/api/v1/users/users/';
const one = `${all}{id}/`;
const ofAll = { path: all, tag: 'Users', inOrganization: true };
const ofOne = { path: one, tag: 'Users', inOrganization: true, answers: { 200: userRecord } };

/** `/api/v1/users/`: users of the selected organization, and the caller's own profile. */
export function userOperations(parts: UserParts): Operation[] {
  const readers = inOrganization(parts.organizations, 'OrgAdmin', 'OrgAuditor');
  const changeOperation = (
    declaration: Pick<OperationDeclaration, 'method' | 'operationId' | 'summary' | 'description'> & {
      body: typeof userFields | typeof userChangeFields;
    },
  ): Operation =>
    defineOperation({
      ...ofOne,
      permission: administrators,
      ...declaration,
      handle: async (call) => {
        const { user, organization } = await findTargetToChange(call, parts);
        await changeUser(call, user.id, await call.readBody(), parts);
        const changed = await parts.users.findRecord(user.id, organization.id);
        if (changed === undefined) throw newAccessNotFound();
        return presentUser(changed, organization.id);
      },
    });
  const unblockOperation = (declaration: Pick<OperationDeclaration, 'method' | 'operationId'>): Operation =>
    defineOperation({
      ...ofOne,
      path: `${one}unblock/`,
      summary: 'Let a user log in again who failed too often',
      description: 'For SystemAdmin. Finds users of every organization, unless one is selected.',
      permission: administrators,
      ...declaration,
      handle: (call) => unblock(call, parts),
    });
  return [
    defineList({
      operationId: 'listUsers',
      summary: 'Users of the organization',
      description:
        'For those with role SystemAdmin or SystemAuditor, and for OrgAdmin and OrgAuditor of the organization.',
      ...ofAll,
      permission: readers,
      record: userRecord,
      query: userFilters,
      list: (call, organization) => listUsers(call.readQuery().done(), organization, parts.database.kysely),
    }),
    defineOperation({
      method: 'POST',
      operationId: 'createUser',
      summary: 'Create a user',
      description:
        'A member of the organization, with OrgUser; in ROOT of none. For SystemAdmin and for OrgAdmin of the organization, to whom a name that may hold rights already, of a deleted user or in a binding of the content platform, is as taken.',
      ...ofAll,
      permission: inOrganization(parts.organizations, 'OrgAdmin'),
      body: newUserFields,
      answers: { 201: userRecord },
      handle: async (call, organization) => {
        const user = await createUser(call, organization, await call.readBody(), parts);
        return presentUser(user, organization.id);
      },
    }),
    defineOperation({
      method: 'GET',
      operationId: 'readUser',
      summary: 'A user of the organization',
      description: 'By id or username.',
      ...ofOne,
      permission: readers,
      handle: async (call, organization) => {
        const { user } = await findUser(organization, call, parts);
        return presentUser(user, organization.id);
      },
    }),
    changeOperation({
      method: 'PUT',
      operationId: 'replaceUser',
      summary: 'Change a user',
      description: 'For SystemAdmin. A new password ends sessions and Bearer tokens of the user.',
      body: userFields,
    }),
    changeOperation({
      method: 'PATCH',
      operationId: 'updateUser',
      summary: 'Change something of a user',
      description: 'For SystemAdmin.',
      body: userChangeFields,
    }),
    defineOperation({
      method: 'DELETE',
      operationId: 'deleteUser',
      summary: 'Delete a user',
      description: 'For SystemAdmin; not oneself, and not the last administrator.',
      ...ofOne,
      permission: administrators,
      answers: { 204: null },
      handle: async (call) => {
        const { user } = await findTargetToChange(call, parts);
        await removeUser(call, user.id, parts);
      },
    }),
    unblockOperation({ method: 'PUT', operationId: 'unblockUser' }),
    unblockOperation({ method: 'PATCH', operationId: 'unblockUserByPatch' }),
    ...profileOperations(parts),
  ];
}

async function unblock(call: Call, parts: UserParts): Promise<UserRecord> {
  const { user, organization } = await findTargetToChange(call, parts);
  await parts.database.transaction(async (on) => {
    const keys = [user.username, ...(user.email === null ? [] : [user.email])].map((name) => accountKey(fold(name)));
    await forgetFailures(keys, on);
    await parts.audit.recordOperation(
      { ...actorOf(call), action: 'unblock', resourceType: 'user', resource: user.username },
      on,
    );
  });
  return presentUser(user, organization.id);
}

interface Target {
  user: UserWithRoles;
  organization: Organization;
}

/** The user in the path, if a member of the organization. */
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
 * Changes apply to the whole user, who may be a member of several organizations: if the call requests no organization,
 * the user is searched in the default one, then in all.
 */
async function findTargetToChange(call: Call, parts: UserParts): Promise<Target> {
  const selected = await selectOrg(call, parts.organizations);
  if (requestedOrg(call) !== undefined) return findUser(selected, call, parts);
  return (
    (await findUserIn(selected, call, parts)) ?? findUser((await parts.organizations.find(rootOrgId))!, call, parts)
  );
}
