import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Type, type Static } from 'typebox';
import type { ListSource } from '../operations/list-answer.ts';
import { isAuditor, type Principal } from '../http/caller.ts';
import { filterText, uuid } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { orderField, orderOf } from '../operations/order-field.ts';
import { fold } from '../names/fold-case.ts';
import {
  organizationColumns,
  presentOrganization,
  type Organization,
  type OrganizationRecord,
} from './organization.ts';

/** The first is the usual one. */
export const orgOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['name', { expression: sql`name_key`, type: 'text' }],
  ['id', { expression: sql`id`, type: 'uuid' }],
  ['date_created', { expression: sql`date_created`, type: 'timestamptz' }],
  ['date_updated', { expression: sql`date_updated`, type: 'timestamptz' }],
]);

export const orgFilters = Type.Object({
  search: filterText('The name contains it, in any case.'),
  q: filterText('Like `search`.'),
  id: Type.Optional(uuid({ description: 'With this id.' })),
  name: filterText('With this name, in any case.'),
  order: orderField(orgOrders),
});

/** All of them for who may see everything, for others those in which they have a role. */
export function listOrgs(
  query: Static<typeof orgFilters>,
  caller: Principal,
  kysely: Kysely<unknown>,
): ListSource<Organization, OrganizationRecord> {
  const where: RawBuilder<unknown>[] = isAuditor(caller) ? [] : [sql`id = ANY(${[...caller.orgRoles.keys()]}::uuid[])`];
  for (const part of [query.search, query.q]) {
    if (part !== undefined) where.push(sql`strpos(name_key, ${fold(part)}) > 0`);
  }
  const { id, name } = query;
  if (id !== undefined) where.push(sql`id = ${id}::uuid`);
  if (name !== undefined) where.push(sql`name_key = ${fold(name)}`);
  const order = orderOf(query.order, orgOrders);
  return keysetList({
    kysely,
    columns: sql.raw(organizationColumns),
    from: sql`access.organizations`,
    where,
    order,
    id: sql`id`,
    present: presentOrganization,
  });
}
