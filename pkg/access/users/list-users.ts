import { expressionBuilder, sql, type Expression, type Kysely, type RawBuilder, type SqlBool } from 'kysely';
import { builder, type AccessTables } from '../access-tables.ts';
import type { ListSource } from '../http/list-answer.ts';
import { isRoot, type Organization } from '../orgs/organization.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';
import { fold } from '../names/fold-case.ts';
import { isMemberOf, presentUser, userColumns, type UserWithRoles } from './user.ts';

const text = (expression: RawBuilder<unknown>): KeysetSortKey => ({ expression, type: 'text' });
/** A time that never came is before all others. */
const time = (column: string): KeysetSortKey => ({
  expression: sql`coalesce(u.${sql.ref(column)}, '-infinity')`,
  type: 'timestamptz',
});

/** The first is the usual one. */
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
  const conditions = filters(reader);
  const order = readOrder(reader, userOrders);
  reader.done();
  if (!isRoot(organization)) conditions.push(isMemberOf(organization.id));
  return keysetList({
    kysely,
    rows: builder
      .selectFrom('access.users as u')
      .select(userColumns)
      .where((eb) => eb.and(conditions)),
    order,
    id: sql.ref('u.id'),
    present: (user: UserWithRoles) => presentUser(user, organization.id),
  });
}

function filters(reader: FieldReader): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = [];
  const eb = expressionBuilder<AccessTables & { u: AccessTables['access.users'] }, 'u'>();
  const add = <T>(value: T | undefined, condition: (value: T) => Expression<SqlBool>): void => {
    if (value !== undefined) conditions.push(condition(value));
  };
  for (const name of ['search', 'q'])
    add(
      reader.text(name, { isExact: true, longest: 1000 }),
      (part) => sql<boolean>`strpos(u.search_text, ${fold(part)}) > 0`,
    );
  add(reader.uuid('id'), (id) => eb('u.id', '=', id));
  add(reader.text('username', { isExact: true, longest: 1000 }), (name) => eb('u.username_key', '=', fold(name)));
  add(reader.text('email', { isExact: true, longest: 1000 }), (email) => eb('u.email_key', '=', fold(email)));
  add(reader.text('name', { isExact: true, longest: 1000 }), (name) => eb('u.name', '=', name));
  add(reader.boolean('is_active'), (isActive) => eb('u.is_active', '=', isActive));
  return conditions;
}
