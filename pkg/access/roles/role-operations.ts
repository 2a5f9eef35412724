import { newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import { listAnswer, type ListSource } from '../http/list-answer.ts';
import { jsonAnswer, noContent, type Call, type Operation } from '../http/operation.ts';
import { isUuid } from '../records/uuid.ts';
import { presentBinding, type Binding, type RoleScope } from './binding.ts';
import { listBindings, readableOrgs } from './list-bindings.ts';
import { findRole, roles, type AccessRole } from '../principals/role.ts';
import { bindingDocuments, roleDocuments } from './role-documents.ts';
import type { RoleParts } from './role-parts.ts';
import { createBinding, findBinding, removeBinding } from './write-binding.ts';

const all = '/api/v1/rbac/roles/';

/** `/api/v1/rbac/`: the roles there are, and who has which. */
export function roleOperations(parts: RoleParts): Operation[] {
  const access = 'user';
  return [
    {
      method: 'GET',
      path: all,
      operationId: 'listRoles',
      access,
      document: roleDocuments.list,
      handle: (call) => listAnswer(call, everyRole),
    },
    {
      method: 'GET',
      path: `${all}{id}/`,
      operationId: 'readRole',
      access,
      document: roleDocuments.read,
      handle: async ({ params }) => {
        const role = findRole(params['id']!);
        if (role === undefined) throw newAccessNotFound();
        return jsonAnswer(200, role);
      },
    },
    ...bindingOperations('system', parts),
    ...bindingOperations('org', parts),
  ];
}

const everyRole: ListSource<AccessRole> = {
  all: async function* everything() {
    yield roles;
  },
  page: async ({ limit, offset }) => ({ count: roles.length, rows: roles.slice(offset, offset + limit) }),
  present: (role) => role,
};

function bindingOperations(scope: RoleScope, parts: RoleParts): Operation[] {
  const document = bindingDocuments(scope);
  const path = `/api/v1/rbac/${scope}-role-bindings/`;
  const one = `${path}{id}/`;
  const name = scope === 'org' ? 'OrganizationRoleBinding' : 'SystemRoleBinding';
  const access = 'user';
  const remove = async (call: Call) => {
    await removeBinding(scope, call, await findReadable(scope, call, parts), parts);
    return noContent;
  };
  return [
    {
      method: 'GET',
      path,
      operationId: `list${name}s`,
      access,
      document: document.list,
      handle: async (call) => listAnswer(call, await listBindings(scope, call, parts)),
    },
    {
      method: 'POST',
      path,
      operationId: `create${name}`,
      access,
      document: document.create,
      handle: async (call) => jsonAnswer(201, presentBinding(await createBinding(scope, call, parts))),
    },
    {
      method: 'GET',
      path: one,
      operationId: `read${name}`,
      access,
      document: document.read,
      handle: async (call) => jsonAnswer(200, presentBinding(await findReadable(scope, call, parts))),
    },
    { method: 'DELETE', path: one, operationId: `delete${name}`, access, document: document.remove, handle: remove },
  ];
}

/** Throws 403 for who may read none at all, and 404 for what is not theirs to read. */
async function findReadable(scope: RoleScope, { caller, params }: Call, { database }: RoleParts): Promise<Binding> {
  const readable = readableOrgs(caller);
  if (readable !== undefined && (scope === 'system' || readable.length === 0)) throw newPermissionDenied();
  const id = params['id']!;
  const binding = isUuid(id) ? await findBinding(scope, id, database.pool) : undefined;
  if (binding === undefined || (readable !== undefined && !readable.includes(binding.org_id!)))
    throw newAccessNotFound();
  return binding;
}
