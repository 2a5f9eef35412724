import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import type { ListSource } from '../http/list-answer.ts';
import { isRoot, type Organization } from '../orgs/organization.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';
import { fold } from '../names/fold-case.ts';
import { presentUser, userColumns, type UserWithRoles } from './user.ts';

const text = (expression: RawBuilder<unknown>): KeysetSortKey => ({ expression, type: 'text' });
/** A time that never came is before all others. */
const time = (column: string): KeysetSortKey => ({
  expression: sql`coalesce(u.${sql.ref(column)}, '-infinity')`,
  type: 'timestamptz',
});

/** The first is the usual one. */
export const userOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['name', text(sql`u.name`)],
  ['username', text(sql`u.username_key`)],
  ['email', text(sql`coalesce(u.email_key, '')`)],
  ['id', { expression: sql`u.id`, type: 'uuid' }],
  ['is_active', { expression: sql`u.is_active`, type: 'boolean' }],
  ['date_joined', time('date_joined')],
  ['date_expired', { expression: sql`coalesce(u.date_expired, 'infinity')`, type: 'timestamptz' }],
  ['last_login', time('last_login')],
  ['source', text(sql`u.source`)],
  ['created_by', text(sql`u.created_by`)],
  ['comment', text(sql`u.comment`)],
]);

/**
 * The users of an organization (ROOT: all there are) that the query asks for. Throws 400 by field for what it asks
 * wrongly.
 */
export function listUsers(
  query: URLSearchParams,
  organization: Organization,
  kysely: Kysely<AccessTables>,
): ListSource<UserWithRoles> {
  const reader = FieldReader.ofQuery(query);
  const where = filters(reader);
  const order = readOrder(reader, userOrders);
  reader.done();
  if (!isRoot(organization))
    where.push(
      sql`EXISTS (SELECT 1 FROM access.org_role_bindings m WHERE m.org_id = ${organization.id}::uuid AND m.user_id = u.id)`,
    );
  return keysetList({
    kysely,
    columns: sql.raw(userColumns),
    from: sql`access.users u`,
    where,
    order,
    id: sql`u.id`,
    present: (user: UserWithRoles) => presentUser(user, organization.id),
  });
}

function filters(reader: FieldReader): RawBuilder<unknown>[] {
  const where: RawBuilder<unknown>[] = [];
  const add = <T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>): void => {
    if (value !== undefined) where.push(condition(value));
  };
  for (const name of ['search', 'q'])
    add(reader.text(name, { isExact: true, longest: 1000 }), (part) => sql`strpos(u.search_text, ${fold(part)}) > 0`);
  add(reader.uuid('id'), (id) => sql`u.id = ${id}::uuid`);
  add(reader.text('username', { isExact: true, longest: 1000 }), (name) => sql`u.username_key = ${fold(name)}`);
  add(reader.text('email', { isExact: true, longest: 1000 }), (email) => sql`u.email_key = ${fold(email)}`);
  add(reader.text('name', { isExact: true, longest: 1000 }), (name) => sql`u.name = ${name}`);
  add(reader.boolean('is_active'), (isActive) => sql`u.is_active = ${isActive}`);
  return where;
}
