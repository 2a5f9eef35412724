import { extractIndexKey, ownerUidIndex, type ApiObject } from '#pkg/apimachinery/index';
import { tableName, type Table } from './table.ts';

/** Beside the labels, in their index, of an object that has owners: no label's key begins so. */
export const anyOwner = '@';

export function ownerElement(uid: string): string {
  return `@=${uid}`;
}

/** What the index on labels holds of an object's owners: one element for each, and one for having any. */
export function ownerElements(object: ApiObject): string[] {
  if (object.metadata.ownerReferences === undefined) return [];
  const uids = extractIndexKey(ownerUidIndex, object);
  return Array.isArray(uids) && uids.length > 0 ? [anyOwner, ...uids.map((uid) => ownerElement(String(uid)))] : [];
}

/** How a body says that its object has owners; where it is another field's name, a second look tells. */
const ownersInBody = '"ownerReferences":[';

/**
 * In SQL: does a row lack what its body says of owners? Rows of this program's own writes have it, and ask no further.
 */
export function lacksOwners(row: string): string {
  return `(NOT ${row}.labels @> '{${anyOwner}}' AND strpos(${row}.body, '${ownersInBody}') > 0)`;
}

/** `ownerElements` of a body in SQL, and the trigger that adds them to a row. */
export const ownerFunctions = [
  `CREATE FUNCTION platform.owner_elements(body text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN count(*) = 0 THEN '{}' ELSE array_agg(DISTINCT '@=' || uid) || '@'::text END FROM (
      SELECT reference ->> 'uid' AS uid
        FROM (SELECT body::json #> '{metadata,ownerReferences}' AS list) metadata,
          json_array_elements(CASE json_typeof(list) WHEN 'array' THEN list ELSE '[]' END) AS reference
        WHERE json_typeof(reference) = 'object' AND json_typeof(reference -> 'uid') = 'string') owners
      WHERE octet_length(uid) <= 1024 $$`,
  `CREATE FUNCTION platform.add_owners() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.labels := NEW.labels || platform.owner_elements(NEW.body); RETURN NEW; END $$`,
];

/**
 * Completes what a replica of an earlier release writes, which knows nothing of owners. On other rows it costs a look
 * for a word in their body.
 */
export function ownersTrigger(table: Pick<Table, 'id'>): string {
  return `CREATE OR REPLACE TRIGGER owners BEFORE INSERT OR UPDATE ON ${tableName(table)} FOR EACH ROW WHEN ${lacksOwners('NEW')} EXECUTE FUNCTION platform.add_owners()`;
}
