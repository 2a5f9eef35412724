import type { JsonSchema } from '#pkg/apimachinery/index';
import { objectSchema, type OperationDocument } from '../http/operation.ts';
import { listSchema, orderParameter, pageParameters } from '../records/list-documents.ts';
import type { RoleScope } from './binding.ts';
import { bindingOrders } from './list-bindings.ts';

const text: JsonSchema = { type: 'string' };
const id: JsonSchema = { type: 'string', format: 'uuid' };
const tag = 'Roles';

const roleSchema = objectSchema({
  id,
  name: text,
  display_name: text,
  scope: { type: 'string', enum: ['system', 'org'] },
  builtin: { type: 'boolean' },
  permissions: { type: 'array', items: text },
});

export const roleDocuments = {
  list: {
    summary: 'Roles',
    description: 'There are these six.',
    tag,
    query: pageParameters,
    responses: { 200: listSchema(roleSchema) },
  },
  read: { summary: 'A role', description: 'By id or name.', tag, responses: { 200: roleSchema } },
} satisfies Record<string, OperationDocument>;

const ofOrg = {
  readers:
    'For SystemAdmin and SystemAuditor, and for OrgAdmin and OrgAuditor those of their organizations. Without `org` and `X-SVC-ORG`: of all organizations the caller may read.',
  writers: 'For SystemAdmin, and for OrgAdmin in their organizations, to members of them.',
  where: ' in an organization',
};
const ofSystem: typeof ofOrg = {
  readers: 'For SystemAdmin and SystemAuditor.',
  writers: 'For SystemAdmin.',
  where: '',
};

export function bindingDocuments(scope: RoleScope): Record<'list' | 'create' | 'read' | 'remove', OperationDocument> {
  const { readers, writers, where } = scope === 'org' ? ofOrg : ofSystem;
  const inOrganization = scope === 'org';
  const named = { ...text, description: 'Id, or name.' };
  const schema = objectSchema({
    id,
    scope: text,
    user: id,
    user_display: text,
    role: id,
    role_name: text,
    role_display: text,
    ...(inOrganization ? { org: id, org_name: text } : {}),
    created_by: text,
    date_created: { type: 'string', format: 'date-time' },
  });
  const filters = [
    { name: 'user', description: 'Of this user: id or username.', schema: text },
    { name: 'role', description: 'Of this role: id or name.', schema: text },
    ...(inOrganization ? [{ name: 'org', description: 'In this organization: id or name.', schema: text }] : []),
  ];
  const body = objectSchema(
    {
      user: named,
      role: named,
      ...(inOrganization
        ? { org: { ...text, description: 'Id, or name; default the organization in which the call is made.' } }
        : {}),
    },
    ['user', 'role'],
  );
  return {
    list: {
      summary: `Who has which role${where}`,
      description: readers,
      tag,
      inOrganization,
      query: [...pageParameters, orderParameter(bindingOrders), ...filters],
      responses: { 200: listSchema(schema) },
    },
    create: {
      summary: `Give somebody a role${where}`,
      description: writers,
      tag,
      inOrganization,
      body,
      responses: { 201: schema },
    },
    read: { summary: `A role that somebody has${where}`, description: readers, tag, responses: { 200: schema } },
    remove: { summary: `Take a role away${where}`, description: writers, tag, responses: { 204: null } },
  };
}
