import { sql, type Kysely } from 'kysely';
import { Type, type Static } from 'typebox';
import { accessQuery, type AccessTables } from '../access-tables.ts';
import type { ListSource } from '../operations/list-answer.ts';
import { isAuditor, type Principal } from '../http/caller.ts';
import { filterText, flag, uuid } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { orderField, orderOf } from '../operations/order-field.ts';
import { fold } from '../names/fold-case.ts';
import {
  organizationColumns,
  presentOrganization,
  type Organization,
  type OrganizationRecord,
} from './organization.ts';

/** The first is the default. */
export const orgOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['name', { expression: sql.ref('name_key'), type: 'text' }],
  ['id', { expression: sql.ref('id'), type: 'uuid' }],
  ['date_created', { expression: sql.ref('date_created'), type: 'timestamptz' }],
  ['date_updated', { expression: sql.ref('date_updated'), type: 'timestamptz' }],
]);

export const orgFilters = Type.Object({
  search: filterText('The name contains it, in any case.'),
  q: filterText('Like `search`.'),
  id: Type.Optional(uuid({ description: 'With this id.' })),
  name: filterText('With this name, in any case.'),
  is_member: Type.Optional(flag({ description: 'Those in which I have a role, or have none.' })),
  order: orderField(orgOrders),
});

/** All organizations for callers who may read everything, for others those in which they have a role. */
export function listOrgs(
  query: Static<typeof orgFilters>,
  caller: Principal,
  kysely: Kysely<AccessTables>,
): ListSource<Organization, OrganizationRecord> {
  let rows = accessQuery.selectFrom('access.organizations').select(organizationColumns);
  const isMember = sql<boolean>`id = ANY(${[...caller.orgRoles.keys()]}::uuid[])`;
  if (!isAuditor(caller)) rows = rows.where(isMember);
  if (query.is_member !== undefined) rows = rows.where(sql<boolean>`${isMember} = ${query.is_member}`);
  for (const part of [query.search, query.q])
    if (part !== undefined) rows = rows.where(sql<boolean>`strpos(name_key, ${fold(part)}) > 0`);
  const { id, name } = query;
  if (id !== undefined) rows = rows.where('id', '=', id);
  if (name !== undefined) rows = rows.where('name_key', '=', fold(name));
  const order = orderOf(query.order, orgOrders);
  return keysetList({ kysely, rows, order, id: sql.ref('id'), present: presentOrganization });
}
