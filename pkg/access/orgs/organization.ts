import type { Selectable } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import { Type, type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../operations/field-schemas.ts';
import { recordOf } from '../operations/record-of.ts';

/** ROOT: all users of all organizations; it has no members of its own. */
export const rootOrgId = '00000000-0000-0000-0000-000000000000';
/** DEFAULT: used if a call names no organization and the caller is not in exactly one. */
export const defaultOrgId = '00000000-0000-0000-0000-000000000002';

export const organizationColumns = [
  'id',
  'name',
  'builtin',
  'comment',
  'created_by',
  'date_created',
  'date_updated',
  'namespace_ready',
] as const;

/**
 * A row as pg returns it. `namespace_ready`: the content platform has its namespace, with the bindings of its roles.
 */
export type Organization = Pick<Selectable<AccessTables['access.organizations']>, (typeof organizationColumns)[number]>;

export const isRoot = ({ id }: Pick<Organization, 'id'>): boolean => id === rootOrgId;

/** Its namespace on the content platform; ROOT has none. */
export function namespaceOf(id: string): string | undefined {
  return id === rootOrgId ? undefined : id === defaultOrgId ? 'default' : `org-${id}`;
}

/** The record in the API. */
export const organizationRecord = Type.Object({
  id: uuid(),
  name: Type.String(),
  builtin: Type.Boolean(),
  is_root: Type.Boolean(),
  is_default: Type.Boolean(),
  comment: Type.String(),
  created_by: Type.String(),
  date_created: timestamp(),
  date_updated: timestamp(),
  namespace: nullable(Type.String({ description: 'On the content platform; ROOT has none.' })),
  namespace_ready: Type.Boolean({
    description: 'The namespace is there. While the content platform cannot be reached it comes later, by itself.',
  }),
});

export type OrganizationRecord = Static<typeof organizationRecord>;

export function presentOrganization(organization: Organization): OrganizationRecord {
  const { id, namespace_ready } = organization;
  const namespace = namespaceOf(id) ?? null;
  return recordOf(organizationRecord, organization, {
    is_root: id === rootOrgId,
    is_default: id === defaultOrgId,
    namespace,
    namespace_ready: namespace !== null && namespace_ready,
  });
}
