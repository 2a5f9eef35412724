import type { IndexDefinition } from '#pkg/apimachinery/index';

/** A selector, and the share of objects that its narrowest clause finds; 1 if it only excludes. */
export interface ListForm {
  labels?: string;
  fields?: string;
  share: number;
}

/**
 * Creates many objects, `i` from 1, as an `INSERT ... SELECT`: 100 namespaces; a label on 2 % and one on 30 % of them,
 * the last 30 % in the order of rank; two labels that never occur together; a field that equals the label, so that the
 * planner multiplies dependent estimates; a few rare objects at the end of every order.
 */
export function fillText(table: string, column: (index: string) => string): string {
  const columns = ['spec.slug', 'spec.owner', 'spec.rank', 'spec.weight', 'spec.open', 'spec.due', 'spec.tags'];
  return `INSERT INTO ${table} (namespace, name, rev, uid, created, deleted, labels, fingerprint, body, ${columns.map(column).join(', ')})
    SELECT namespace, name, nextval('platform.revision'), gen_random_uuid(), created, deleted,
      ARRAY['/' || namespace, 'app', 'app=a' || i % 50] || CASE WHEN i > $1 * 0.7 THEN ARRAY['tier', 'tier=front'] ELSE ARRAY['/'] END ||
        CASE WHEN i % 2000 = 1 THEN ARRAY['rare', 'rare='] ELSE ARRAY['/'] END || CASE WHEN i > $1 - 20 THEN ARRAY['last', 'last=yes'] ELSE ARRAY['/'] END,
      'f1', json_build_object('apiVersion', 'store.example.com/v1', 'kind', 'Widget',
        'metadata', json_build_object('name', name, 'namespace', namespace, 'creationTimestamp', ${timeText('created')}, 'deletionTimestamp', ${timeText('deleted')}),
        'spec', json_build_object('slug', slug, 'owner', owner, 'rank', rank, 'weight', weight, 'open', open, 'due', ${timeText('due')}, 'tags', tags)),
      slug, owner, rank, weight, open, due, tags
    FROM (SELECT i, 'n' || i % 100 AS namespace, 'o-' || lpad(i::text, 8, '0') AS name, timestamptz '2026-01-01' + i * interval '1 second' AS created,
        CASE WHEN i % 1000 = 0 THEN timestamptz '2026-06-01' END AS deleted, 's' || i AS slug, 'u' || i % 50 AS owner, i / 20 AS rank, (i / 7.0)::float8 AS weight,
        i > $1 * 0.7 AS open, CASE WHEN i % 1000 > 0 THEN timestamptz '2026-02-01' + i / 20 * interval '1 minute' END AS due, ARRAY['t' || i % 50, 'r' || i / 20] AS tags
      FROM generate_series(1, $1::int) i) made`;
}

/** SQL for a time in the format of objects; null stays null. */
function timeText(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
}

const labelForms: ListForm[] = [
  { labels: 'app=a7', share: 0.02 },
  { labels: 'app==a7', share: 0.02 },
  { labels: 'rare=', share: 0.0005 },
  { labels: 'tier=front', share: 0.3 },
  { labels: 'last=yes', share: 0 },
  { labels: 'absent=yes', share: 0 },
  { labels: 'app!=a7', share: 1 },
  { labels: 'rare', share: 0.0005 },
  { labels: '!tier', share: 1 },
  { labels: 'app=(a1)', share: 0.02 },
  { labels: 'app=(a1,a2)', share: 0.04 },
  { labels: 'app in (a1)', share: 0.02 },
  { labels: 'app in (a1,a2,a3)', share: 0.06 },
  { labels: 'app notin (a1,a2)', share: 1 },
  { labels: 'app=a7,rare', share: 0.0005 },
  { labels: 'app=a7,tier!=front', share: 0.02 },
  { labels: 'app in (a1,a2),tier=front,!rare', share: 0.04 },
  { labels: 'tier=front,last', share: 0 },
  { labels: 'app!=a7,!rare,tier notin (front)', share: 1 },
];

const mixedForms: ListForm[] = [
  { labels: 'app=a7', fields: 'spec.owner=u7', share: 0.02 },
  { labels: 'app=a7', fields: 'spec.owner=u8', share: 0.02 },
  { labels: 'tier=front', fields: 'spec.open=true', share: 0.3 },
  { labels: 'tier=front', fields: 'spec.open=false', share: 0.3 },
  { labels: '!tier', fields: 'spec.rank=77', share: 0.001 },
  { labels: 'app=a7', fields: 'spec.rank>=70,spec.rank<75', share: 0.005 },
  { labels: 'last', fields: 'spec.owner!=u7,spec.tags!=t7', share: 0 },
  { fields: 'metadata.namespace=n7,spec.rank=77', share: 0.001 },
  { fields: 'spec.tags=t7,spec.tags=r77', share: 0.001 },
  { fields: 'spec.tags in (r7,r8,r9)', share: 0.003 },
  { fields: 'spec.rank in (77,78)', share: 0.002 },
  { fields: 'spec.slug^=s777', share: 0.06 },
  { fields: 'metadata.name=o-00000077,spec.owner=u27', share: 0 },
  { fields: 'name=o-00000077', share: 0 },
];

/** Every form of selector that the API accepts, over every given index. */
export function listForms(indexes: readonly IndexDefinition[]): ListForm[] {
  return [...labelForms, ...indexes.flatMap(fieldForms), ...mixedForms];
}

/** Values of at most a fiftieth of the objects, except for the boolean. */
function fieldForms({ name, type, multi }: IndexDefinition): ListForm[] {
  const ordinary = { string: 'u7', integer: '77', number: '7', boolean: 'true', date: '2026-02-01T00:07:00Z' }[type];
  const value =
    {
      'metadata.name': 'o-00000077',
      'metadata.namespace': 'n7',
      'metadata.creationTimestamp': '2026-01-01T00:01:17Z',
      'spec.slug': 's77',
      'spec.tags': 't7',
    }[name] ?? ordinary;
  const share = type === 'boolean' ? 0.3 : 0.02;
  const form = (fields: string, part: number): ListForm => ({ fields, share: part });
  const equal = [`${name}=${value}`, `${name}==${value}`, `${name}=(${value})`, `${name} in (${value})`].map((fields) =>
    form(fields, share),
  );
  const other = [`${name}!=${value}`, `${name} notin (${value})`, name, `!${name}`].map((fields) => form(fields, 1));
  const orders =
    multi || type === 'boolean'
      ? []
      : [`${name}>${value}`, `${name}>=${value}`, `${name}<${value}`, `${name}<=${value}`].map((fields) =>
          form(fields, 1),
        );
  const prefix = type === 'string' && !multi ? [form(`${name}^=${value}`, 0.2)] : [];
  return [...equal, ...other, ...orders, ...prefix];
}
