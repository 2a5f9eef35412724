import type { PostgresProcess } from '../../test/system/harness/process/postgres-process.ts';
import { tableOf } from './table-sizes.ts';

const chunk = 200_000;

/**
 * Fills a table with SQL: copies the row of object `post-0`, which the server wrote, with a new name, uid, number and
 * revision each. Only while no server runs, because servers are not notified; the history lacks these rows, as if it
 * had been compacted.
 */
export async function fillTable(database: PostgresProcess, plural: string, count: number): Promise<void> {
  const { table, columns } = await tableOf(database, plural);
  const column = (index: string): string => columns.find((each) => each.index.name === index)!.name;
  const slug = column('spec.slug');
  const values = [
    [column('spec.category'), "'c-' || g / 20"],
    [column('spec.priority'), '(g * 7919::bigint) % 1000'],
    [
      column('spec.publishedAt'),
      "timestamptz '2026-01-01 00:00Z' + (g % 24) * interval '1 hour' + (g % 60) * interval '1 minute'",
    ],
    [column('spec.tags'), "ARRAY['harbour', 't-' || g % 50]"],
  ] as const;
  const tiers = "(ARRAY['gold','gold','gold','silver','silver','silver','iron','iron','iron','clay'])[g % 10 + 1]";
  const labels = `ARRAY['lang', 'lang=l-' || g % 50, 'tier', 'tier=' || ${tiers}, 'batch', 'batch=b-' || g / 20]`;
  const [{ body: pattern } = { body: '' }] = (await database.query(
    `SELECT body FROM ${table} WHERE name = 'post-0'`,
  )) as { body: string }[];
  const body = bodyExpression(pattern);
  for (let first = 1; first < count; first += chunk) {
    const last = Math.min(first + chunk, count) - 1;
    await database.query(
      `INSERT INTO ${table} (namespace, name, rev, uid, created, labels, fingerprint, body, ${slug}, ${values.map(([name]) => name).join(', ')})
       SELECT p.namespace, 'post-' || g, nextval('platform.revision'), u.uid, p.created + g * interval '1 millisecond', ${namespaceElements('p.labels')} || ${labels}, p.fingerprint, ${body}, 'post-' || g, ${values.map(([, value]) => value).join(', ')}
       FROM ${table} p, generate_series(${first}, ${last}) g, LATERAL (SELECT md5('post-' || g)::uuid AS uid) u WHERE p.name = 'post-0'`,
    );
  }
  // Every used revision must be below the newest of the history.
  await database.query(
    "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (nextval('platform.revision'), 0, 0, 'M', '', '')",
  );
}

/** Replaces the varying parts in the text of the first object. */
function bodyExpression(pattern: string): string {
  const { metadata } = JSON.parse(pattern) as { metadata: { uid: string } };
  const replacements = [
    ['"post-0"', `'"post-' || g || '"'`],
    [metadata.uid, 'u.uid::text'],
    ['"b-0"', `'"b-' || g / 20 || '"'`],
    ['"c-0"', `'"c-' || g / 20 || '"'`],
    ['"l-0"', `'"l-' || g % 50 || '"'`],
    ['"t-0"', `'"t-' || g % 50 || '"'`],
    ['"priority":0', `'"priority":' || (g * 7919::bigint) % 1000`],
  ] as const;
  return replacements.reduce((text, [from, to]) => `replace(${text}, '${from}', ${to})`, 'p.body');
}

/** The namespace's part of the first object's labels. */
function namespaceElements(labels: string): string {
  return `ARRAY(SELECT e FROM unnest(${labels}) e WHERE e !~ '^(lang|tier|batch)(=|$)')`;
}
