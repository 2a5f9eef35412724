import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pool, QueryResult } from 'pg';
import { builtinIndexes, parseFieldSelector, parseLabelSelector, parseSort } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { resourceOf, sampleModel } from '../storetest/sample-model.ts';
import { ChunkReader } from './list-chunk.ts';
import { PageReader } from './list-page.ts';
import { readSettings } from './list-query.ts';
import { ObjectCounter } from './object-counter.ts';
import { PostgresStore } from './postgres-store.ts';
import { TableCatalog } from './table-catalog.ts';
import { tableName, type Table } from './table.ts';

/** The whole matrix runs at 100 000 objects: `SVC_TEST_PLAN_OBJECTS=100000`. */
const objects = Number(process.env['SVC_TEST_PLAN_OBJECTS'] ?? 20_000);
const model = sampleModel('planned', { namespaced: true });
const indexes = [...builtinIndexes, ...model.indexes];

let testDatabase: TestDatabase;
let database: Database;
let store: PostgresStore;
let table: Table;
let pages: PageReader;
let chunks: ChunkReader;
let plans: string[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  store = await PostgresStore.open({ database, log: silentLog });
  await store.ensureModel(model);
  table = await new TableCatalog(database.pool).get(resourceOf(model));
  await fill();
  const pool = explaining(database.newPool({ max: 2, settings: readSettings }));
  const counter = new ObjectCounter(database.pool, store.changes);
  pages = new PageReader(pool, counter);
  chunks = new ChunkReader(pool, counter);
}, 120_000);

afterAll(async () => {
  await store?.close();
  await database?.close();
  await testDatabase?.drop();
});

/** Rows in bulk: 100 namespaces, a label with 2 % and one with 30 % of them, ten owners of 0.1 %. */
async function fill(): Promise<void> {
  const column = (name: string): string => table.columns.find(({ index }) => index.name === name)!.name;
  const columns = ['spec.slug', 'spec.owner', 'spec.rank', 'spec.weight', 'spec.open', 'spec.due', 'spec.tags'].map(column).join(', ');
  await database.pool.query(
    `INSERT INTO ${tableName(table)} (namespace, name, rev, uid, created, deleted, labels, fingerprint, body, ${columns})
     SELECT 'n' || i % 100, 'o-' || i, nextval('platform.revision'), gen_random_uuid(), timestamptz '2026-01-01' + i * interval '1 second',
       CASE WHEN i % 1000 = 0 THEN timestamptz '2026-06-01' END,
       ARRAY['/n' || i % 100, 'app', 'app=a' || i % 50] || CASE WHEN i % 10 < 3 THEN ARRAY['tier', 'tier=front'] ELSE ARRAY['/'] END || CASE WHEN i % 2000 = 1 THEN ARRAY['rare'] ELSE ARRAY['/'] END,
       'f1', '{"apiVersion":"store.example.com/v1","kind":"Widget","metadata":{"name":"o-' || i || '","namespace":"n' || i % 100 || '"},"spec":{}}',
       's' || i, 'u' || i % 1000, i % 5000, i / 7.0, i % 2 = 0, timestamptz '2026-02-01' + i % 9999 * interval '1 minute', ARRAY['t' || i % 700, 't' || i % 3]
     FROM generate_series(1, $1) i`,
    [objects],
  );
  await database.pool.query(`VACUUM ANALYZE ${tableName(table)}`);
}

/** The real pool, except that each list's plan is asked for first. */
function explaining(pool: Pool): Pool {
  const query = pool.query.bind(pool) as unknown as (text: string, values: unknown[]) => Promise<QueryResult>;
  const explained = async (text: string, values: unknown[]): Promise<QueryResult> => {
    const { rows } = await query(`EXPLAIN ${text}`, values);
    plans.push(rows.map((row) => String((row as Record<string, unknown>)['QUERY PLAN'])).join('\n'));
    return query(text, values);
  };
  return Object.assign(Object.create(pool) as Pool, { query: explained });
}

const selectors: [string, { labels?: string; fields?: string }][] = [
  ['nothing', {}],
  ['label equals, 2 %', { labels: 'app=a7' }],
  ['label equals, 30 %', { labels: 'tier=front' }],
  ['labels that never meet', { labels: 'app=a8,rare' }],
  ['label not equal', { labels: 'app!=a7' }],
  ['label present', { labels: 'rare' }],
  ['label absent', { labels: '!tier' }],
  ['label in a set', { labels: 'app in (a1,a2,a3)' }],
  ['label not in a set', { labels: 'app notin (a1,a2)' }],
  ...indexes.flatMap(({ name, type, multi }): [string, { fields: string }][] => {
    const value = { string: name === 'metadata.name' ? 'o-77' : name === 'metadata.namespace' ? 'n7' : name === 'spec.tags' ? 't77' : 'u77', integer: '77', number: '7', boolean: 'true', date: '2026-02-02T00:00:00Z' }[type];
    const forms = [`${name}=${value}`, `${name}!=${value}`, `${name}=(${value})`, `${name} in (${value})`, `${name} notin (${value})`, name, `!${name}`];
    const orderings = multi || type === 'boolean' ? [] : [`${name}>${value}`, `${name}>=${value}`, `${name}<${value}`, `${name}<=${value}`];
    const prefix = type === 'string' && !multi ? [`${name}^=${value}`] : [];
    return [...forms, ...orderings, ...prefix].map((fields) => [`field ${fields}`, { fields }]);
  }),
];

function parse({ labels, fields }: { labels?: string; fields?: string }, sort: string[]) {
  return {
    selector: { labels: parseLabelSelector(labels === undefined ? [] : [labels]), fields: parseFieldSelector(fields === undefined ? [] : [fields], indexes) },
    sort: parseSort(sort, indexes),
  };
}

describe(`plans at ${objects} objects`, () => {
  test.each(selectors)('no list scans the whole table: %s', async (_, selector) => {
    for (const sort of [[], ['spec.rank,desc'], ['metadata.creationTimestamp']]) {
      for (const namespace of [undefined, 'n7']) {
        plans = [];
        const query = { ...parse(selector, sort), ...(namespace === undefined ? {} : { namespace }) };
        await pages.read(table, { ...query, page: 2, size: 20, exactTotal: false, exactTotalLimit: 10_000 });
        await chunks.read(table, { ...query, limit: 20 });
        expect(plans.length).toBeGreaterThan(0);
        for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (m_|change_log)/);
      }
    }
  });

  test.each(indexes.filter(({ multi }) => !multi).map(({ name }) => [name]))('a sort by %s follows its index and sorts nothing', async (name) => {
    for (const sort of [name, `${name},desc`]) {
      plans = [];
      await pages.read(table, { ...parse({}, [sort]), page: 1, size: 20, exactTotal: false, exactTotalLimit: 10_000 });
      for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on m_|Sort Key: .*\n.*-> +Index.*\(rows=\d{4,}/);
      expect(plans.join('\n')).toMatch(/Index (Only )?Scan/);
    }
  });
});
