import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { startTestEnv, type TestEnv, type TestRequest } from '../start-test-env.ts';
import { call, mergePatch, type ApiResponse } from './api-call.ts';
import {
  changeDefinition,
  createOrThrow,
  register,
  schemaWithSpec,
  anySpec,
  statusAndScale,
  version,
  type Registered,
} from './models-definition.ts';
import { RecordedWatch } from './recorded-watch.ts';

interface Table {
  kind: string;
  apiVersion: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: { name: string; type: string; format: string; description: string; priority: number }[] | null;
  rows: { cells: unknown[]; object: Record<string, unknown> | null }[];
}

const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const olderTableType = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io';
/** What kubectl sends. */
const kubectlAccept = `${tableType},${olderTableType},application/json`;

let env: TestEnv;
let posts: Registered;

const columns = [
  { name: 'Title', type: 'string', jsonPath: '.spec.title' },
  { name: 'Count', type: 'integer', format: 'int32', jsonPath: '.spec.count', description: 'how many' },
  { name: 'Ratio', type: 'number', jsonPath: '.spec.ratio', priority: 1 },
  { name: 'Draft', type: 'boolean', jsonPath: '.spec.draft' },
  { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  { name: 'Due', type: 'date', jsonPath: '.spec.due' },
  { name: 'Tags', type: 'string', jsonPath: '.spec.tags', priority: 1 },
];

beforeAll(async () => {
  env = await startTestEnv();
  posts = await register(env, {
    versions: [
      version('v1', schemaWithSpec(anySpec), { additionalPrinterColumns: columns, ...statusAndScale }),
      version('v1beta1', schemaWithSpec(anySpec), { storage: false, ...statusAndScale }),
    ],
  });
  await createOrThrow(
    env,
    posts.path,
    posts.object('a', {
      title: 'A',
      count: 3,
      ratio: 0.5,
      draft: true,
      due: '2000-01-01T00:00:00Z',
      tags: ['x', 'y'],
      replicas: 2,
    }),
  );
  await call(env, `${posts.path}/a/status`, {
    method: 'PATCH',
    headers: mergePatch,
    body: {
      status: {
        conditions: [
          { type: 'Synced', status: 'No' },
          { type: 'Ready', status: 'True' },
        ],
        replicas: 1,
      },
    },
  });
  await createOrThrow(env, posts.path, posts.object('b', { title: 5, count: '3', ratio: [], draft: 'x', due: 'soon' }));
  await createOrThrow(env, posts.path, posts.object('c'));
});

afterAll(() => env?.stop());

async function table(path: string, { headers, ...init }: TestRequest = {}): Promise<ApiResponse & { table: Table }> {
  const answer = await call(env, path, { ...init, headers: { ...headers, accept: kubectlAccept } });
  return { ...answer, table: answer.body as unknown as Table };
}

const cellsOf = ({ rows }: Table): unknown[] => rows.map(({ cells }) => cells);
const namesOf = ({ rows }: Table): unknown[] => rows.map(({ cells }) => cells[0]);

const age = expect.stringMatching(/^\d+y(?:\d+d)?$/);
const rowA = ['a', 'A', 3, 0.5, true, 'True', age, '["x","y"]'];
const rowB = ['b', '5', null, null, null, null, '<invalid>', null];
const rowC = ['c', null, null, null, null, null, null, null];

describe('a list', () => {
  test('has the columns of the definition, and a cell for each', async () => {
    const { status, headers, table: found } = await table(posts.path);
    expect([status, headers.get('content-type'), headers.get('vary')]).toEqual([200, 'application/json', 'Accept']);
    expect(found).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(found.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(found.columnDefinitions?.[0]).toMatchObject({ name: 'Name', type: 'string', format: 'name', priority: 0 });
    expect(found.columnDefinitions?.slice(1, 4)).toEqual([
      {
        name: 'Title',
        type: 'string',
        format: '',
        description: 'Custom resource definition column (in JSONPath format): .spec.title',
        priority: 0,
      },
      { name: 'Count', type: 'integer', format: 'int32', description: 'how many', priority: 0 },
      {
        name: 'Ratio',
        type: 'number',
        format: '',
        description: 'Custom resource definition column (in JSONPath format): .spec.ratio',
        priority: 1,
      },
    ]);
    expect(cellsOf(found)).toEqual([rowA, rowB, rowC]);
  });

  test('has the name and the age for a version without columns', async () => {
    const { table: found } = await table(posts.path.replace('/v1/', '/v1beta1/'));
    expect(found.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Age']);
    expect(cellsOf(found)).toEqual(['a', 'b', 'c'].map((name) => [name, expect.stringMatching(/^\d+[smh]/)]));
  });

  test('in chunks is a table each, at one revision', async () => {
    const first = (await table(`${posts.path}?limit=2`)).table;
    expect([namesOf(first), first.metadata.remainingItemCount]).toEqual([['a', 'b'], 1]);
    const second = (await table(`${posts.path}?limit=2&continue=${first.metadata.continue}`)).table;
    expect(namesOf(second)).toEqual(['c']);
    expect(second.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
    expect(second.columnDefinitions).toEqual(first.columnDefinitions);
  });

  test('of no objects has columns and no rows', async () => {
    const { table: found } = await table(`${posts.path}?labelSelector=no=such`);
    expect([found.rows, found.columnDefinitions?.length]).toEqual([[], 8]);
  });

  test('in pages has the fields of the page', async () => {
    const { table: found } = await table(`${posts.path}?page=2&size=2`);
    expect(found).toMatchObject({ page: 2, size: 2, total: 3, hasNext: false });
    expect(namesOf(found)).toEqual(['c']);
  });

  test('is the same in YAML', async () => {
    const accept = 'application/yaml;as=Table;v=v1;g=meta.k8s.io';
    const { text, headers } = await call(env, posts.path, { headers: { accept } });
    expect(headers.get('content-type')).toBe('application/yaml');
    expect(cellsOf(parse(text) as Table)).toEqual([rowA, rowB, rowC]);
  });

  test('of many objects is streamed whole', async () => {
    const many = await register(env, { spec: anySpec });
    const names = Array.from({ length: 300 }, (_, at) => `p${String(at).padStart(3, '0')}`);
    await Promise.all(
      names.map((name) => createOrThrow(env, many.path, many.object(name, { text: 'x'.repeat(2000) }))),
    );
    expect(namesOf((await table(`${many.path}?includeObject=Object`)).table)).toEqual(names);
  });
});

describe('includeObject', () => {
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'a' } };
  test.each<[string, unknown]>([
    ['', partial],
    ['?includeObject=', partial],
    ['?includeObject=Metadata', partial],
    ['?includeObject=Object', { kind: 'Post', metadata: { name: 'a' }, spec: { title: 'A' } }],
    ['?includeObject=None', null],
  ])('%s', async (query, object) => {
    for (const path of [posts.path, `${posts.path}/a`]) {
      const { table: found } = await table(`${path}${query}`);
      expect(found.rows[0]).toMatchObject({ cells: rowA, object });
      if (query !== '?includeObject=Object') expect(found.rows[0]!.object ?? {}).not.toHaveProperty('spec');
    }
  });

  test.each(['', '/a', '?watch=true'])('with another value is refused: %p', async (suffix) => {
    const { status, body } = await table(
      `${posts.path}${suffix}${suffix.startsWith('?') ? '&' : '?'}includeObject=all`,
    );
    expect([status, body.message]).toEqual([
      400,
      `Unable to convert to Table as requested: includeObject: Invalid value: "all": must be 'Metadata', 'Object', 'None', or empty`,
    ]);
  });

  test('means nothing to a client that asks for no table', async () => {
    expect((await call(env, `${posts.path}/a?includeObject=all`)).body.kind).toBe('Post');
  });
});

describe('one object', () => {
  test('is a table with one row, without an entity tag', async () => {
    const { status, headers, table: found } = await table(`${posts.path}/a`, { headers: { 'if-none-match': '*' } });
    expect([status, headers.get('etag')]).toEqual([200, null]);
    expect(found.metadata.resourceVersion).toBe(
      (found.rows[0]!.object!['metadata'] as Table['metadata']).resourceVersion,
    );
    expect(cellsOf(found)).toEqual([rowA]);
  });

  test('in answers to writes is a table, too', async () => {
    const path = `${posts.path}/written`;
    const object = (title: string): object => posts.object('written', { title });
    const created = await table(posts.path, { method: 'POST', body: object('one') });
    expect([created.status, cellsOf(created.table)]).toEqual([201, [['written', 'one', ...rowC.slice(2)]]]);
    const dry = await table(`${path}?dryRun=All`, { method: 'PUT', body: object('dry') });
    expect(cellsOf(dry.table)).toEqual([['written', 'dry', ...rowC.slice(2)]]);
    const replaced = await table(path, { method: 'PUT', body: object('two') });
    expect(cellsOf(replaced.table)).toEqual([['written', 'two', ...rowC.slice(2)]]);
    const patched = await table(path, {
      method: 'PATCH',
      headers: mergePatch,
      body: { spec: { title: 'three' }, metadata: { finalizers: ['example.com/hold'] } },
    });
    expect(cellsOf(patched.table)).toEqual([['written', 'three', ...rowC.slice(2)]]);
    expect((await table(path, { method: 'DELETE' })).table.kind).toBe('Table');
    await table(path, { method: 'PATCH', headers: mergePatch, body: { metadata: { finalizers: null } } });
    expect((await table(path)).body).toMatchObject({ kind: 'Status', code: 404 });
  });

  test('a Status stays a Status', async () => {
    await createOrThrow(env, posts.path, posts.object('deleted'));
    expect((await table(`${posts.path}/deleted`, { method: 'DELETE' })).body).toMatchObject({ kind: 'Status' });
    expect((await table(`${posts.path}/absent`)).body).toMatchObject({ kind: 'Status', code: 404 });
  });

  test('its scale has a table of its own', async () => {
    const { table: found } = await table(`${posts.path}/a/scale`);
    expect(found.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Desired', 'Available', 'Age']);
    expect(cellsOf(found)).toEqual([['a', 2, 1, expect.stringMatching(/^\d+[smh]/)]]);
  });
});

describe('Accept', () => {
  test.each<[string, string | number]>([
    [tableType, 'meta.k8s.io/v1 Table'],
    [olderTableType, 'meta.k8s.io/v1beta1 Table'],
    [`${olderTableType},${tableType}`, 'meta.k8s.io/v1beta1 Table'],
    [`application/json,${tableType}`, 'v1 PostList'],
    [`application/json;q=0.5,${tableType};q=0.1`, 'v1 PostList'],
    ['application/json;as=Table;v=v2;g=meta.k8s.io', 406],
    ['application/json;as=Table;v=v1;g=example.com', 406],
    ['application/json;as=Table', 406],
    ['application/json;as=table;v=v1;g=meta.k8s.io', 406],
    ['application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io', 406],
    ['text/csv;as=Table;v=v1;g=meta.k8s.io', 406],
    [`application/json;as=Table;v=v2;g=meta.k8s.io,${olderTableType}`, 'meta.k8s.io/v1beta1 Table'],
    ['application/json;as=Table;v=v2;g=meta.k8s.io,application/json', 'v1 PostList'],
  ])('%s', async (accept, expected) => {
    const { status, body } = await call(env, posts.path, { headers: { accept } });
    const found = status === 200 ? `${body.apiVersion} ${body.kind}`.replace(`${posts.group}/`, '') : status;
    expect(found).toBe(expected);
  });

  test('of an older table gives older metadata', async () => {
    const { body } = await call(env, `${posts.path}/a`, { headers: { accept: olderTableType } });
    expect((body as unknown as Table).rows[0]!.object).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1beta1',
    });
  });

  test('a watch has no tables in YAML', async () => {
    const accept = 'application/yaml;as=Table;v=v1;g=meta.k8s.io';
    expect((await call(env, `${posts.path}?watch=true`, { headers: { accept } })).status).toBe(406);
  });
});

describe('a watch', () => {
  const tableOf = ({ object }: { object: unknown }): Table => object as Table;

  test('has a table in each event, and columns in the first', async () => {
    const model = await register(env, {
      versions: [version('v1', schemaWithSpec(anySpec), { additionalPrinterColumns: columns.slice(0, 1) })],
    });
    await createOrThrow(env, model.path, model.object('one', { title: '1' }));
    const query = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const stream = await RecordedWatch.open(env, `${model.path}?${query}`, { headers: { accept: kubectlAccept } });
    try {
      await stream.until(({ bookmarks }) => bookmarks.length > 0);
      await createOrThrow(env, model.path, model.object('two', { title: '2' }));
      await call(env, `${model.path}/two`, { method: 'PATCH', headers: mergePatch, body: { spec: { title: '3' } } });
      await call(env, `${model.path}/two`, { method: 'DELETE' });
      await stream.until(({ changes }) => changes.length === 4);
      expect(stream.changes.map((event) => [event.type, ...cellsOf(tableOf(event))])).toEqual([
        ['ADDED', ['one', '1']],
        ['ADDED', ['two', '2']],
        ['MODIFIED', ['two', '3']],
        ['DELETED', ['two', '3']],
      ]);
      for (const event of stream.changes) {
        const { kind, apiVersion, metadata, rows } = tableOf(event);
        expect([kind, apiVersion]).toEqual(['Table', 'meta.k8s.io/v1']);
        expect(rows[0]!.object).toMatchObject({ kind: 'PartialObjectMetadata', metadata });
      }
      const [first, ...others] = stream.events.map(tableOf);
      expect(first!.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Title']);
      expect(others.map(({ columnDefinitions }) => columnDefinitions)).toEqual(others.map(() => null));
      expect(tableOf(stream.bookmarks[0]!).rows[0]!.object).toMatchObject({
        metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
      });
    } finally {
      stream.close();
    }
  });

  test('that begins later has the columns, too', async () => {
    const { resourceVersion } = (await call(env, posts.path)).body.metadata;
    const path = `${posts.path}?resourceVersion=${resourceVersion}&includeObject=None`;
    const streams = await Promise.all(
      [1, 2].map(() => RecordedWatch.open(env, path, { headers: { accept: tableType } })),
    );
    try {
      await createOrThrow(env, posts.path, posts.object('late', { title: 'L' }));
      for (const stream of streams) {
        await stream.until(({ events }) => events.length === 1);
        expect(tableOf(stream.events[0]!)).toMatchObject({
          columnDefinitions: { length: 8 },
          rows: [{ cells: ['late', 'L', ...rowC.slice(2)], object: null }],
        });
      }
    } finally {
      for (const stream of streams) stream.close();
    }
  });

  test('and lists have the new columns once the definition has them', async () => {
    const model = await register(env);
    await createOrThrow(env, model.path, model.object('a', { title: 'A' }));
    await changeDefinition(env, model.definition.metadata.name, (definition) => {
      definition.spec.versions[0]!['additionalPrinterColumns'] = columns.slice(0, 1);
    });
    expect(cellsOf((await table(model.path)).table)).toEqual([['a', 'A']]);
  });
});

describe('built-in kinds', () => {
  test('have the columns that kubectl users know', async () => {
    const spaces = (await table('/api/v1/namespaces')).table;
    expect(spaces.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Status', 'Age']);
    expect(cellsOf(spaces)).toContainEqual(['default', 'Active', expect.any(String)]);
    const roles = (await table('/apis/rbac.authorization.k8s.io/v1/clusterroles')).table;
    expect(cellsOf(roles)).toContainEqual(['cluster-admin', expect.stringMatching(/^\d{4}-\d\d-\d\dT/)]);
    const bindings = (await table('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings')).table;
    expect(bindings.rows.length).toBeGreaterThan(0);
    for (const [, role] of cellsOf(bindings) as string[][]) expect(role).toMatch(/^ClusterRole\//);
    const definitions = (await table('/apis/apiextensions.k8s.io/v1/customresourcedefinitions')).table;
    expect(definitions.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Created At']);
  });
});
