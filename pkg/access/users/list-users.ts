import { expressionBuilder, sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import { Type, type Static } from 'typebox';
import { accessQuery, type AccessTables } from '../access-tables.ts';
import type { ListSource } from '../operations/list-answer.ts';
import { isRoot, type Organization } from '../orgs/organization.ts';
import { filterText, flag, uuid } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { orderField, orderOf } from '../operations/order-field.ts';
import { fold } from '../names/fold-case.ts';
import { isPerson } from '../principals/service-user.ts';
import { isMemberOf, presentUser, userColumns, type UserRecord, type UserWithRoles } from './user.ts';

const text = (expression: RawBuilder<unknown>): KeysetSortKey => ({ expression, type: 'text' });
/** A missing time sorts before all others. */
const time = (column: string): KeysetSortKey => ({
  expression: sql`coalesce(u.${sql.ref(column)}, '-infinity')`,
  type: 'timestamptz',
});

/** The first is the default. */
export const userOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['name', text(sql.ref('u.name'))],
  ['username', text(sql.ref('u.username_key'))],
  ['email', text(sql`coalesce(u.email_key, '')`)],
  ['id', { expression: sql.ref('u.id'), type: 'uuid' }],
  ['is_active', { expression: sql.ref('u.is_active'), type: 'boolean' }],
  ['date_joined', time('date_joined')],
  ['date_expired', { expression: sql`coalesce(u.date_expired, 'infinity')`, type: 'timestamptz' }],
  ['last_login', time('last_login')],
  ['source', text(sql.ref('u.source'))],
  ['created_by', text(sql.ref('u.created_by'))],
  ['comment', text(sql.ref('u.comment'))],
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

/** The users of an organization (ROOT: all users) that match the query. */
export function listUsers(
  query: Static<typeof userFilters>,
  organization: Organization,
  kysely: Kysely<AccessTables>,
): ListSource<UserWithRoles, UserRecord> {
  const conditions = filters(query);
  const order = orderOf(query.order, userOrders);
  if (!isRoot(organization)) conditions.push(isMemberOf(organization.id));
  return keysetList({
    kysely,
    rows: accessQuery
      .selectFrom('access.users as u')
      .select(userColumns)
      .where((eb) => eb.and(conditions)),
    order,
    id: sql.ref('u.id'),
    present: (user: UserWithRoles) => presentUser(user, organization.id),
  });
}

function filters(query: Static<typeof userFilters>): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = [isPerson];
  const eb = expressionBuilder<AccessTables & { u: AccessTables['access.users'] }, 'u'>();
  const add = <T>(value: T | undefined, condition: (value: T) => Expression<SqlBool>): void => {
    if (value !== undefined) conditions.push(condition(value));
  };
  for (const sent of [query.search, query.q])
    add(sent, (part) => sql<boolean>`strpos(u.search_text, ${fold(part)}) > 0`);
  add(query.id, (id) => eb('u.id', '=', id));
  add(query.username, (name) => eb('u.username_key', '=', fold(name)));
  add(query.email, (email) => eb('u.email_key', '=', fold(email)));
  add(query.name, (name) => eb('u.name', '=', name));
  add(query.is_active, (isActive) => eb('u.is_active', '=', isActive));
  return conditions;
}
