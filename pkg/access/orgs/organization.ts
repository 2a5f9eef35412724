import type { Selectable } from 'kysely';
import type { AccessTables } from '../access-tables.ts';

/** All users of all organizations; nobody is a member of it. */
export const rootOrgId = '00000000-0000-0000-0000-000000000000';
/** Where a call is made that names none, by a caller who is not in exactly one. */
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
 * As pg gives it. `namespace_ready`: the content platform has its namespace, and in it the bindings of its roles.
 */
export type Organization = Pick<Selectable<AccessTables['access.organizations']>, (typeof organizationColumns)[number]>;

export const isRoot = ({ id }: Pick<Organization, 'id'>): boolean => id === rootOrgId;

/** On the content platform; ROOT has none. */
export function namespaceOf(id: string): string | undefined {
  return id === rootOrgId ? undefined : id === defaultOrgId ? 'default' : `org-${id}`;
}

/** The record that clients see. */
export function presentOrganization({
  id,
  name,
  builtin,
  comment,
  created_by,
  date_created,
  date_updated,
  namespace_ready,
}: Organization): object {
  const namespace = namespaceOf(id) ?? null;
  return {
    id,
    name,
    builtin,
    is_root: id === rootOrgId,
    is_default: id === defaultOrgId,
    comment,
    created_by,
    date_created: date_created.toISOString(),
    date_updated: date_updated.toISOString(),
    namespace,
    namespace_ready: namespace !== null && namespace_ready,
  };
}
