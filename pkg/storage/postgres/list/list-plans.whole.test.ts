import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { builtinIndexes, parseFieldSelector, parseLabelSelector, parseSort } from '#pkg/apimachinery/index';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import type { ListQuery } from '../../store.ts';
import {
  ExplainedDatabase,
  sequentialScans,
  visited,
  type ExplainedStatement,
} from '../../storetest/explained-database.ts';
import { fillText, listForms, type ListForm } from '../../storetest/list-forms.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from '../../storetest/sample-model.ts';
import { sparseLimit } from './list-query.ts';
import { PostgresStore } from '../postgres-store.ts';
import { TableCatalog } from '../table/table-catalog.ts';
import { tableName } from '../table/table.ts';

/** `make plans` runs it with 100 000 objects, and with every order and every kind of read for every form. */
const objects = Number(process.env['SVC_TEST_PLAN_OBJECTS'] ?? 4000);
const isWhole = objects >= 100_000;
const model = sampleModel('planned', { namespaced: true });
const resource = resourceOf(model);
const indexes = [...builtinIndexes, ...model.indexes];
const sortable = indexes.filter(({ multi }) => !multi).map(({ name }) => name);
const size = 20;
const limits = { exactTotal: false, exactTotalLimit: sparseLimit };

let testDatabase: TestDatabase;
let database: Database;
let explained: ExplainedDatabase;
let store: PostgresStore;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
  explained = new ExplainedDatabase(database);
  store = await PostgresStore.open({ database: explained.database, log: silentLog });
  await store.ensureModel(model);
  const table = await new TableCatalog(database.pool).get(resource);
  await database.pool.query(
    fillText(tableName(table), (index) => table.columns.find((column) => column.index.name === index)!.name),
    [objects],
  );
  await database.pool.query(`VACUUM ANALYZE ${tableName(table)}`);
  // The rows were inserted without the log: this write makes the log as new as the rows.
  await store.write(createOf(model, sampleObject('newest', { namespace: 'n1' })));
  // Totals without selectors are counted once, and then updated.
  for (const namespace of [undefined, 'n7'])
    await store.page(resource, { ...queryOf({}, [], namespace), ...limits, page: 1, size });
});

afterAll(async () => {
  await store?.close();
  await database?.close();
  await testDatabase?.drop();
});

function queryOf({ labels, fields }: Omit<ListForm, 'share'>, sort: string[] = [], namespace?: string): ListQuery {
  const selector = {
    labels: parseLabelSelector(labels === undefined ? [] : [labels]),
    fields: parseFieldSelector(fields === undefined ? [] : [fields], indexes),
  };
  return { selector, sort: parseSort(sort, indexes), ...(namespace === undefined ? {} : { namespace }) };
}

/** Returns the statements of a list; at least one of them reads objects. */
async function statementsOf(read: () => Promise<unknown>): Promise<ExplainedStatement[]> {
  explained.statements.length = 0;
  await read();
  expect(explained.statements).not.toEqual([]);
  return [...explained.statements];
}

/** Reads a later page, and a chunk that continues another. */
const readers: ((query: ListQuery) => Promise<unknown>)[] = [
  (query) => store.page(resource, { ...query, ...limits, page: 2, size }),
  async (query) => {
    const { next } = await store.chunk(resource, { ...query, limit: 3 });
    if (next !== undefined) await store.chunk(resource, { ...query, limit: size, after: next });
  },
];

/**
 * Maximum number of rows visited. A list that finds its matches by an index visits them, at most twice, and the objects
 * of the page. Only a list with too many matches to gather, or with only excluding selectors, may visit all rows: along
 * the order's index until a page is full, and once more up to the counting limit.
 */
function mostVisited(share: number): number {
  const gathered = share * objects <= sparseLimit && share < 1;
  return (gathered ? share * objects * 2.2 : objects * 2.2) + 200;
}

describe(`plans at ${objects} objects`, () => {
  const forms = listForms(indexes).map((form): [string, ListForm] => [
    [form.labels, form.fields].filter((part) => part !== undefined).join(' with '),
    form,
  ]);
  test.each(forms)('%s: no table is scanned completely, and no more rows than necessary', async (_, form) => {
    for (const sort of isWhole
      ? [[], ['spec.rank,desc'], ['spec.due'], ['metadata.creationTimestamp,desc']]
      : [['spec.rank,desc']]) {
      for (const namespace of isWhole ? [undefined, 'n7'] : [undefined]) {
        for (const read of readers) {
          for (const statement of await statementsOf(() => read(queryOf(form, sort, namespace)))) {
            expect(sequentialScans(statement)).toEqual([]);
            expect(visited(statement)).toBeLessThanOrEqual(mostVisited(form.share));
          }
        }
      }
    }
  });

  test.each(sortable)('a page and a chunk sorted by %s follow its index, from any place', async (name) => {
    for (const sort of [[name], [`${name},desc`]]) {
      for (const namespace of name === 'metadata.namespace' ? [undefined, 'n7'] : [undefined]) {
        const query = queryOf({}, sort, namespace);
        for (const read of readers)
          for (const statement of await statementsOf(() => read(query)))
            expect(visited(statement)).toBeLessThanOrEqual(500);
        const page = objects / size / 10;
        for (const statement of await statementsOf(() => store.page(resource, { ...query, ...limits, page, size })))
          expect(visited(statement)).toBeLessThanOrEqual(page * size + 500);
        const { next } = await store.chunk(resource, { ...query, limit: objects / 100 });
        for (const statement of await statementsOf(() =>
          store.chunk(resource, { ...query, limit: size, after: next! }),
        ))
          expect(visited(statement)).toBeLessThanOrEqual(500);
      }
    }
  });

  test.each([
    ['the matches, counted exactly', { labels: 'tier=front' }],
    ['everything, counted exactly', {}],
  ])('%s: no table is scanned completely for a page', async (_, form) => {
    const statements = await statementsOf(() =>
      store.page(resource, { ...queryOf(form), exactTotal: true, exactTotalLimit: sparseLimit, page: 1, size }),
    );
    expect(statements.flatMap(sequentialScans)).toEqual([]);
  });

  test('a chunk of an older snapshot reads the log by its index', async () => {
    const { next } = await store.chunk(resource, { ...queryOf({}), limit: size });
    for (let i = 0; i < 5; i += 1) await store.write(createOf(model, sampleObject(`added-${i}`, { namespace: 'n7' })));
    const statements = await statementsOf(() => store.chunk(resource, { ...queryOf({}), limit: size, after: next! }));
    expect(statements.flatMap(sequentialScans)).toEqual([]);
  });
});
