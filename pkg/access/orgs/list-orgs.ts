import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import type { ListSource } from '../http/list-answer.ts';
import { isAuditor, type Principal } from '../http/caller.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';
import { fold } from '../names/fold-case.ts';
import { organizationColumns, presentOrganization, type Organization } from './organization.ts';

/** The first is the usual one. */
export const orgOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['name', { expression: sql`name_key`, type: 'text' }],
  ['id', { expression: sql`id`, type: 'uuid' }],
  ['date_created', { expression: sql`date_created`, type: 'timestamptz' }],
  ['date_updated', { expression: sql`date_updated`, type: 'timestamptz' }],
]);

/**
 * All of them for who may see everything, for others those in which they have a role. Throws 400 by field for what the
 * query asks wrongly.
 */
export function listOrgs(query: URLSearchParams, caller: Principal, kysely: Kysely<AccessTables>): ListSource<Organization> {
  const reader = FieldReader.ofQuery(query);
  const where: RawBuilder<unknown>[] = isAuditor(caller) ? [] : [sql`id = ANY(${[...caller.orgRoles.keys()]}::uuid[])`];
  for (const name of ['search', 'q']) {
    const part = reader.text(name, { isExact: true, longest: 1000 });
    if (part !== undefined) where.push(sql`strpos(name_key, ${fold(part)}) > 0`);
  }
  const id = reader.uuid('id');
  if (id !== undefined) where.push(sql`id = ${id}::uuid`);
  const name = reader.text('name', { isExact: true, longest: 1000 });
  if (name !== undefined) where.push(sql`name_key = ${fold(name)}`);
  const order = readOrder(reader, orgOrders);
  reader.done();
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
