import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { runQuery } from '#pkg/database/index';
import { isDuplicate } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import { actorOf } from '../audit/audit.ts';
import { newFieldErrors, newOrgNotFound } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import { fold } from '../names/fold-case.ts';
import { freeText, line } from '../operations/field-schemas.ts';
import { isUuid } from '../operations/uuid.ts';
import type { OrgParts } from './org-parts.ts';
import { organizationColumns, type Organization } from './organization.ts';

export const orgFields = Type.Object({
  name: line({ description: 'Unique in any case; no comma.', fault: nameFault }),
  comment: Type.Optional(freeText({ maxLength: 2000 })),
});
export const orgChangeFields = Type.Partial(orgFields);

/** Also creates the namespace, or, if the platform cannot be reached, later: see `namespace_ready`. */
export async function createOrg(
  call: Call,
  { name, comment = '' }: Static<typeof orgFields>,
  { database, audit, organizations, names, namespaces }: OrgParts,
): Promise<Organization> {
  await names.prepare();
  const created = await withUniqueName(() =>
    database.transaction(async (on) => {
      const insert = accessQuery
        .insertInto('access.organizations')
        .values({ name, name_key: fold(name), comment, created_by: call.caller.username })
        .returning(organizationColumns);
      const { rows } = await runQuery(on, insert, 'organization-insert');
      const organization = rows[0]!;
      await names.claim('organization', organization, on);
      await audit.recordOperation(
        { ...actorOf(call), action: 'create', resourceType: 'organization', resource: name, orgId: organization.id },
        on,
      );
      return organization;
    }),
  );
  await namespaces.ensure(created.id);
  return (await organizations.find(created.id)) ?? created;
}

export async function changeOrg(
  call: Call,
  { id, name: before }: Organization,
  { name, comment }: Static<typeof orgChangeFields>,
  { database, audit, organizations, names, namespaces }: OrgParts,
): Promise<Organization> {
  await names.prepare();
  await withUniqueName(() =>
    database.transaction(async (on) => {
      const newName = sql<string>`coalesce(${name ?? null}, name)`;
      const update = accessQuery
        .updateTable('access.organizations')
        .set({
          name: newName,
          name_key: sql`coalesce(${name === undefined ? null : fold(name)}, name_key)`,
          comment: sql`coalesce(${comment ?? null}, comment)`,
          date_updated: currentTime,
          // The namespace stores the organization's name.
          namespace_ready: sql`namespace_ready AND ${newName} = name`,
        })
        .where('id', '=', id)
        .returning('name');
      const { rows } = await runQuery(on, update, 'organization-update');
      if (rows[0] === undefined) throw newOrgNotFound();
      // An existing lookalike may keep its name.
      if (name !== undefined && name !== before) await names.claim('organization', { id, name }, on);
      const changed = Object.entries({ name, comment }).flatMap(([field, value]) =>
        value === undefined ? [] : [field],
      );
      await audit.recordOperation(
        {
          ...actorOf(call),
          action: 'update',
          resourceType: 'organization',
          resource: rows[0].name,
          detail: changed.join(', '),
          orgId: id,
        },
        on,
      );
    }),
  );
  if (name !== undefined && name !== before) await names.adoptAfterRelease();
  await namespaces.ensure(id);
  const changed = await organizations.find(id);
  if (changed === undefined) throw newOrgNotFound();
  return changed;
}

/** A name must fit into a header, and must not look like an id. */
function nameFault(name: string): string | undefined {
  const folded = fold(name);
  if (/[,\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u.test(name + folded))
    return 'A name holds no comma and no invisible character.';
  if (['.', '..', 'current'].includes(folded)) return 'A path cannot name this.';
  if (folded.length > 512) return 'Ensure this field has no more than 128 characters.';
  return isUuid(folded) ? 'A name may not look like an id.' : undefined;
}

async function withUniqueName<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isDuplicate(error)) throw newFieldErrors({ name: ['This field must be unique.'] });
    throw error;
  }
}
