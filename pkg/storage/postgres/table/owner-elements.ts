import { extractIndexKey, ownerUidIndex, type ApiObject } from '#pkg/apimachinery/index';
import { tableName, type Table } from './table.ts';

/** Element in the index on labels for an object that has owners. No label key begins with this character. */
export const anyOwner = '@';

export function ownerElement(uid: string): string {
  return `@=${uid}`;
}

/** The elements for an object's owners in the index on labels: one per owner, and one for having any. */
export function ownerElements(object: ApiObject): string[] {
  if (object.metadata.ownerReferences === undefined) return [];
  const uids = extractIndexKey(ownerUidIndex, object);
  return Array.isArray(uids) && uids.length > 0 ? [anyOwner, ...uids.map((uid) => ownerElement(String(uid)))] : [];
}

/**
 * Text in the body of an object with owners. It may also be another field's name: the trigger then checks the parsed
 * body.
 */
const ownersInBody = '"ownerReferences":[';

/**
 * SQL condition: does a row lack the owners in its body? Rows written by this program have them, so the body is not
 * searched.
 */
export function lacksOwners(row: string): string {
  return `(NOT ${row}.labels @> '{${anyOwner}}' AND strpos(${row}.body, '${ownersInBody}') > 0)`;
}

/** SQL functions: `ownerElements` of a body, and the trigger that adds them to a row. */
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
 * Adds the owners to rows written by a replica of an earlier release, which does not know them. For other rows it costs
 * a text search in their body.
 */
export function ownersTrigger(table: Pick<Table, 'id'>): string {
  return `CREATE OR REPLACE TRIGGER owners BEFORE INSERT OR UPDATE ON ${tableName(table)} FOR EACH ROW WHEN ${lacksOwners('NEW')} EXECUTE FUNCTION platform.add_owners()`;
}
