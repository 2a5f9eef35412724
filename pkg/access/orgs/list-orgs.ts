import { sql, type Kysely } from 'kysely';
import { builder, type AccessTables } from '../access-tables.ts';
import type { ListSource } from '../http/list-answer.ts';
import { isAuditor, type Principal } from '../http/caller.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';
import { fold } from '../names/fold-case.ts';
import { organizationColumns, presentOrganization, type Organization } from './organization.ts';

/** The first is the usual one. */
export const orgOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['name', { expression: sql.ref('name_key'), type: 'text' }],
  ['id', { expression: sql.ref('id'), type: 'uuid' }],
  ['date_created', { expression: sql.ref('date_created'), type: 'timestamptz' }],
  ['date_updated', { expression: sql.ref('date_updated'), type: 'timestamptz' }],
]);

/**
 * All of them for who may see everything, for others those in which they have a role. Throws 400 by field for what the
 * query asks wrongly.
 */
export function listOrgs(
  query: URLSearchParams,
  caller: Principal,
  kysely: Kysely<AccessTables>,
): ListSource<Organization> {
  const reader = FieldReader.ofQuery(query);
  let rows = builder.selectFrom('access.organizations').select(organizationColumns);
  if (!isAuditor(caller)) rows = rows.where((eb) => eb('id', '=', eb.fn.any(eb.val([...caller.orgRoles.keys()]))));
  for (const name of ['search', 'q']) {
    const part = reader.text(name, { isExact: true, longest: 1000 });
    if (part !== undefined) rows = rows.where(sql<boolean>`strpos(name_key, ${fold(part)}) > 0`);
  }
  const id = reader.uuid('id');
  if (id !== undefined) rows = rows.where('id', '=', id);
  const name = reader.text('name', { isExact: true, longest: 1000 });
  if (name !== undefined) rows = rows.where('name_key', '=', fold(name));
  const order = readOrder(reader, orgOrders);
  reader.done();
  return keysetList({ kysely, rows, order, id: sql.ref('id'), present: presentOrganization });
}
