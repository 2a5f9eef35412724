import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Type, type Static } from 'typebox';
import type { ListSource } from '../operations/list-answer.ts';
import { isRoot, type Organization } from '../orgs/organization.ts';
import { filterText, flag, uuid } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { orderField, orderOf } from '../operations/order-field.ts';
import { fold } from '../names/fold-case.ts';
import { presentUser, userColumns, type UserRecord, type UserWithRoles } from './user.ts';

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

export const userFilters = Type.Object({
  search: filterText('Username, name or e-mail address contains it, in any case.'),
  q: filterText('Like `search`.'),
  id: Type.Optional(uuid({ description: 'With this id.' })),
  username: filterText('With this username, in any case.'),
  email: filterText('With this address, in any case.'),
  name: filterText('With exactly this name.'),
  is_active: Type.Optional(flag({ description: 'Active, or not.' })),
  order: orderField(userOrders),
});

/** The users of an organization (ROOT: all there are) that the query asks for. */
export function listUsers(
  query: Static<typeof userFilters>,
  organization: Organization,
  kysely: Kysely<unknown>,
): ListSource<UserWithRoles, UserRecord> {
  const where = filters(query);
  const order = orderOf(query.order, userOrders);
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

function filters(query: Static<typeof userFilters>): RawBuilder<unknown>[] {
  const where: RawBuilder<unknown>[] = [];
  const add = <T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>): void => {
    if (value !== undefined) where.push(condition(value));
  };
  for (const sent of [query.search, query.q]) add(sent, (part) => sql`strpos(u.search_text, ${fold(part)}) > 0`);
  add(query.id, (id) => sql`u.id = ${id}::uuid`);
  add(query.username, (name) => sql`u.username_key = ${fold(name)}`);
  add(query.email, (email) => sql`u.email_key = ${fold(email)}`);
  add(query.name, (name) => sql`u.name = ${name}`);
  add(query.is_active, (isActive) => sql`u.is_active = ${isActive}`);
  return where;
}
