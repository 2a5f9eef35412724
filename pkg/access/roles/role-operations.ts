import { Type, type Static } from 'typebox';
import { newAccessNotFound } from '../http/access-error.ts';
import { defineList, defineOperation } from '../operations/define-operation.ts';
import { oneOf, uuid } from '../operations/field-schemas.ts';
import { shortList } from '../operations/list-answer.ts';
import type { Call, Operation } from '../operations/operation.ts';
import { recordOf } from '../operations/record-of.ts';
import { anyUser, auditors, ifCaller } from '../operations/permission.ts';
import { isUuid } from '../operations/uuid.ts';
import { findRole, roles, type AccessRole } from '../principals/role.ts';
import { bindingRecord, presentBinding, type Binding, type RoleScope } from './binding.ts';
import { bindingFilters, listBindings, readableOrgs } from './list-bindings.ts';
import type { RoleParts } from './role-parts.ts';
import { createBinding, findBinding, newBindingFields, removeBinding } from './write-binding.ts';

const tag = 'Roles';
const all = '/api/v1/rbac/roles/';

const role = Type.Object({
  id: uuid(),
  name: Type.String(),
  display_name: Type.String(),
  scope: oneOf(['system', 'org']),
  builtin: Type.Boolean(),
  permissions: Type.Array(Type.String()),
});

/** `/api/v1/rbac/`: roles, and their bindings to users. */
export function roleOperations(parts: RoleParts): Operation[] {
  return [
    defineList({
      path: all,
      operationId: 'listRoles',
      summary: 'Roles',
      description: 'There are these six.',
      tag,
      permission: anyUser,
      record: role,
      list: () => shortList(roles, present),
    }),
    defineOperation({
      method: 'GET',
      path: `${all}{id}/`,
      operationId: 'readRole',
      summary: 'A role',
      description: 'By id or name.',
      tag,
      permission: anyUser,
      answers: { 200: role },
      handle: async ({ params }) => {
        const found = findRole(params['id']!);
        if (found === undefined) throw newAccessNotFound();
        return present(found);
      },
    }),
    ...bindingOperations('system', parts),
    ...bindingOperations('org', parts),
  ];
}

const present = (found: AccessRole): Static<typeof role> => recordOf(role, found);

const ofSystem = {
  name: 'SystemRoleBinding',
  readers: 'For SystemAdmin and SystemAuditor.',
  writers: 'For SystemAdmin.',
  where: '',
  mayRead: auditors,
};
const ofOrg: typeof ofSystem = {
  name: 'OrganizationRoleBinding',
  readers:
    'For SystemAdmin and SystemAuditor, and for OrgAdmin and OrgAuditor those of their organizations. Without `org` and `X-SVC-ORG`: of all organizations the caller may read.',
  writers: 'For SystemAdmin, and for OrgAdmin in their organizations, to members of them.',
  where: ' in an organization',
  mayRead: ifCaller((caller) => readableOrgs(caller)?.length !== 0),
};

function bindingOperations(scope: RoleScope, parts: RoleParts): Operation[] {
  const { name, readers, writers, where, mayRead } = scope === 'org' ? ofOrg : ofSystem;
  const record = bindingRecord[scope];
  const path = `/api/v1/rbac/${scope}-role-bindings/`;
  const inOrganization = scope === 'org';
  const one = { path: `${path}{id}/`, tag, permission: mayRead };
  return [
    defineList({
      path,
      operationId: `list${name}s`,
      summary: `Who has which role${where}`,
      description: readers,
      tag,
      inOrganization,
      permission: mayRead,
      record,
      query: bindingFilters(scope),
      list: (call) => listBindings(scope, call, call.readQuery(), parts),
    }),
    defineOperation({
      method: 'POST',
      path,
      operationId: `create${name}`,
      summary: `Give somebody a role${where}`,
      description: writers,
      tag,
      inOrganization,
      // The permission depends on the organization in the body.
      permission: anyUser,
      body: newBindingFields(scope),
      answers: { 201: record },
      handle: async (call) => presentBinding(await createBinding(scope, call, await call.readBody(), parts)),
    }),
    defineOperation({
      method: 'GET',
      operationId: `read${name}`,
      summary: `A role that somebody has${where}`,
      description: readers,
      ...one,
      answers: { 200: record },
      handle: async (call) => presentBinding(await findReadable(scope, call, parts)),
    }),
    defineOperation({
      method: 'DELETE',
      operationId: `delete${name}`,
      summary: `Take a role away${where}`,
      description: writers,
      ...one,
      answers: { 204: null },
      handle: async (call) => removeBinding(scope, call, await findReadable(scope, call, parts), parts),
    }),
  ];
}

/** Throws 404 for a binding that the caller may not read. */
async function findReadable(scope: RoleScope, { caller, params }: Call, { database }: RoleParts): Promise<Binding> {
  const readable = readableOrgs(caller);
  const id = params['id']!;
  const binding = isUuid(id) ? await findBinding(scope, id, database.pool) : undefined;
  if (binding === undefined || (readable !== undefined && !readable.includes(binding.org_id!)))
    throw newAccessNotFound();
  return binding;
}
