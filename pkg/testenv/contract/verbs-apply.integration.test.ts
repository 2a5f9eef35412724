import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { applyPatch, clientOf, type ContractClient, type WireResponse } from './client.ts';
import {
  apiVersion,
  article,
  articles,
  definitions,
  note,
  notesIn,
  registerModels,
  report,
  reports,
} from './models.ts';

interface Entry {
  manager: string;
  operation: string;
  subresource?: string;
  fieldsV1: Record<string, unknown>;
}

let env: TestEnv;
let client: ContractClient;
let count = 0;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

const newName = (): string => `apply-${(count += 1)}`;
const whole = { accept: 'application/json' };
const apply = (path: string, config: unknown, query: string): Promise<WireResponse> =>
  client.patch(`${path}?${query}`, config, { ...applyPatch, ...whole });
const as = (manager: string, more = ''): string => `fieldManager=${manager}${more}`;
/** The entries without their times, which must be there. */
function entriesOf({ body }: WireResponse): Entry[] {
  const { managedFields = [] } = body.metadata as unknown as { managedFields?: (Entry & { time: string })[] };
  return managedFields.map(({ time, ...entry }) => {
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    return entry;
  });
}
const entry = (manager: string, operation: string, fieldsV1: unknown, more: object = {}): unknown => ({
  manager,
  operation,
  apiVersion,
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});

describe('managed fields', () => {
  test('of a create belong to the field manager, or to the User-Agent up to the first slash', async () => {
    const fields = { 'f:spec': { '.': {}, 'f:title': {} } };
    const [named, agent] = [newName(), newName()];
    const first = await client.post(`${articles}?fieldManager=me`, article(named, { title: 'a' }), whole);
    expect(entriesOf(first)).toEqual([entry('me', 'Update', fields)]);
    const second = await client.post(articles, article(agent, { title: 'a' }), {
      ...whole,
      'user-agent': 'tool\u00e9/1 x',
    });
    expect(entriesOf(second)).toEqual([entry('tool\u00e9', 'Update', fields)]);
    expect(entriesOf(await client.get(`${articles}/${agent}`, whole))).toEqual(entriesOf(second));
  });

  test('pass to whoever changes them, and a change of nothing renews no time', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    await client.post(`${articles}?fieldManager=one`, article(name, { title: 'a', body: 'b' }));
    const changed = await client.patch(`${path}?fieldManager=two`, { spec: { title: 'c' } }, whole);
    expect(entriesOf(changed)).toEqual([
      entry('one', 'Update', { 'f:spec': { '.': {}, 'f:body': {} } }),
      entry('two', 'Update', { 'f:spec': { 'f:title': {} } }),
    ]);
    const same = await client.put(`${path}?fieldManager=three`, article(name, { title: 'c', body: 'b' }), whole);
    expect(same.body).toEqual(changed.body);
  });

  test('of /status are those of the subresource, and of the object itself are not of its status', async () => {
    const name = newName();
    await client.post(`${reports}?fieldManager=me`, { ...report(name, { color: 'a' }), status: { phase: 'x' } });
    const done = await client.patch(`${reports}/${name}/status?fieldManager=me`, { status: { phase: 'Done' } }, whole);
    expect(entriesOf(done)).toEqual([
      entry('me', 'Update', { 'f:spec': { '.': {}, 'f:color': {} } }),
      entry('me', 'Update', { 'f:status': { '.': {}, 'f:phase': {} } }, { subresource: 'status' }),
    ]);
  });

  test.each([
    ['an empty list', []],
    ['a list of one empty entry', [{}]],
  ])('%s resets them', async (_, managedFields) => {
    const name = newName();
    await client.post(articles, article(name, { title: 'a' }));
    const cleared = await client.put(`${articles}/${name}`, article(name, { title: 'a' }, { managedFields }), whole);
    expect(entriesOf(cleared)).toEqual([]);
    expect(cleared.body.metadata).not.toHaveProperty('managedFields');
  });

  test('of a deletion that waits stay as they are', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    const created = await client.post(articles, article(name, {}, { finalizers: ['example.com/hold'] }), whole);
    const marked = await client.delete(path, { headers: whole });
    expect(marked.body.metadata.deletionTimestamp).toBeDefined();
    expect(entriesOf(marked)).toEqual(entriesOf(created));
    await client.patch(path, { metadata: { finalizers: null } });
  });

  test('of definitions: the spec belongs to the client, the status to the server', async () => {
    const { body } = await client.get(`${definitions}/articles.contract.example.com`, whole);
    const { managedFields } = body.metadata as unknown as { managedFields: Entry[] };
    const owners = managedFields.map(({ manager, subresource, fieldsV1 }) => [
      manager,
      subresource,
      Object.keys(fieldsV1),
    ]);
    expect(owners).toContainEqual(['svc', 'status', ['f:status']]);
    expect(owners.some(([, subresource, fields]) => subresource === undefined && fields!.includes('f:spec'))).toBe(
      true,
    );
  });
});

describe('an apply patch', () => {
  test('creates an object, changes it, and removes what it no longer names', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    const created = await apply(path, article(name, { title: 'a', body: 'b' }), as('me'));
    expect([created.status, created.body.spec]).toEqual([201, { title: 'a', body: 'b' }]);
    expect(created.headers.get('location')).toBe(path);
    expect(entriesOf(created)).toEqual([entry('me', 'Apply', { 'f:spec': { 'f:body': {}, 'f:title': {} } })]);
    const changed = await apply(path, article(name, { title: 'c' }), as('me'));
    expect([changed.status, changed.body.spec, changed.body.metadata.generation]).toEqual([200, { title: 'c' }, 2]);
    const same = await apply(path, article(name, { title: 'c' }), as('me'));
    expect([same.status, same.body]).toEqual([200, changed.body]);
  });

  test('reads YAML and JSON', async () => {
    const name = newName();
    const yaml = await apply(`${articles}/${name}`, stringify(article(name, { title: 'a' })), as('me'));
    expect([yaml.status, yaml.body.spec]).toEqual([201, { title: 'a' }]);
    const json = await apply(`${articles}/${name}`, JSON.stringify(article(name, { title: 'b' })), as('me'));
    expect([json.status, json.body.spec]).toEqual([200, { title: 'b' }]);
    const flow = await apply(
      `${articles}/${name}`,
      stringify(article(name, { title: 'c' }), { defaultStringType: 'QUOTE_DOUBLE', collectionStyle: 'flow' }),
      as('me'),
    );
    expect([flow.status, flow.body.spec]).toEqual([200, { title: 'c' }]);
  });

  test('is refused where another manager owns a field of another value; force takes it', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    await client.post(`${articles}?fieldManager=other`, article(name, { title: 'a', body: 'b' }));
    const refused = await apply(path, article(name, { title: 'x' }), as('me'));
    expect([refused.status, refused.body]).toEqual([
      409,
      {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        reason: 'Conflict',
        code: 409,
        message: `Apply failed with 1 conflict: conflict with "other" using ${apiVersion}: .spec.title`,
        details: {
          causes: [
            {
              reason: 'FieldManagerConflict',
              message: `conflict with "other" using ${apiVersion}`,
              field: '.spec.title',
            },
          ],
        },
      },
    ]);
    const several = await apply(path, article(name, { title: 'x', body: 'y' }), as('me', '&force=false'));
    expect(several.body.message).toBe(
      `Apply failed with 2 conflicts: conflicts with "other" using ${apiVersion}:\n- .spec.body\n- .spec.title`,
    );
    const shared = await apply(path, article(name, { title: 'a' }), as('me'));
    expect(shared.status).toBe(200);
    const forced = await apply(path, article(name, { title: 'x' }), as('me', '&force=true'));
    expect([forced.status, forced.body.spec]).toEqual([200, { title: 'x', body: 'b' }]);
    expect(entriesOf(forced)).toEqual([
      entry('me', 'Apply', { 'f:spec': { 'f:title': {} } }),
      entry('other', 'Update', { 'f:spec': { '.': {}, 'f:body': {} } }),
    ]);
  });

  test('gives what an object had before to before-first-apply', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    await client.post(articles, article(name, { title: 'a' }));
    await client.put(path, article(name, { title: 'a' }, { managedFields: [] }));
    const applied = await apply(path, article(name, { body: 'b' }), as('me'));
    expect(entriesOf(applied)).toEqual([
      entry('me', 'Apply', { 'f:spec': { 'f:body': {} } }),
      entry('before-first-apply', 'Update', { 'f:spec': { '.': {}, 'f:title': {} } }),
    ]);
  });

  test('of /status applies the status alone, and creates nothing', async () => {
    const name = newName();
    const config = { ...report(name), status: { phase: 'Done' } };
    const { spec: _, ...statusOnly } = config;
    expect((await apply(`${reports}/${name}/status`, statusOnly, as('me'))).status).toBe(404);
    await client.post(`${reports}?fieldManager=other`, report(name, { color: 'a' }));
    const applied = await apply(`${reports}/${name}/status`, statusOnly, as('me'));
    expect([applied.status, applied.body.status, applied.body.spec]).toEqual([200, { phase: 'Done' }, { color: 'a' }]);
    expect(entriesOf(applied)[0]).toEqual(
      entry('me', 'Apply', { 'f:status': { 'f:phase': {} } }, { subresource: 'status' }),
    );
  });

  test('of a dry run answers with the whole result, and stores nothing', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    const tried = await apply(path, article(name, { title: 'a' }), as('me', '&dryRun=All'));
    expect([tried.status, entriesOf(tried)]).toEqual([201, [entry('me', 'Apply', { 'f:spec': { 'f:title': {} } })]]);
    expect((await client.get(path)).status).toBe(404);
    const stored = await apply(path, article(name, { title: 'a' }), as('me'));
    const changed = await apply(path, article(name, { title: 'b' }), as('me', '&dryRun=All'));
    expect([changed.status, changed.body.spec]).toEqual([200, { title: 'b' }]);
    expect((await client.get(path, whole)).body).toEqual(stored.body);
  });

  test('of several at once to an object that does not exist creates it once', async () => {
    const name = newName();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        apply(`${articles}/${name}`, article(name, {}, { labels: { [`k${i}`]: 'v' } }), as(`m${i}`)),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
    const { body } = await client.get(`${articles}/${name}`, whole);
    expect(Object.keys(body.metadata.labels)).toHaveLength(8);
  });

  test('of null keeps it where the field allows it; in built-in kinds it is absence', async () => {
    const name = newName();
    const applied = await apply(`${articles}/${name}`, article(name, { subtitle: null }), as('me'));
    expect([applied.status, applied.body.spec]).toEqual([201, { subtitle: null }]);
    expect(entriesOf(applied)).toEqual([entry('me', 'Apply', { 'f:spec': { 'f:subtitle': {} } })]);
    const config = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: null };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const builtIn = await apply(`${leases}/${name}`, config, as('me'));
    expect([builtIn.status, 'spec' in builtIn.body]).toEqual([201, false]);
  });

  test('that empties what it filled removes it', async () => {
    const name = newName();
    await apply(`${articles}/${name}`, article(name, { title: 'a' }), as('me'));
    const emptied = await apply(`${articles}/${name}`, article(name), as('me'));
    expect([emptied.status, emptied.body.spec]).toEqual([200, undefined]);
  });

  test('of a namespaced object, a namespace and a definition', async () => {
    const space = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: newName(), labels: { a: 'b' } } };
    expect((await apply(`/api/v1/namespaces/${space.metadata.name}`, space, as('me'))).status).toBe(201);
    const name = newName();
    const applied = await apply(`${notesIn(space.metadata.name)}/${name}`, note(name, {}), as('me'));
    expect([applied.status, applied.body.metadata.namespace]).toEqual([201, space.metadata.name]);
    const path = `${definitions}/articles.contract.example.com`;
    const label = { metadata: { name: 'articles.contract.example.com', labels: { applied: 'yes' } } };
    const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', ...label };
    const labelled = await apply(path, definition, as('me'));
    expect([labelled.status, labelled.body.metadata.labels]).toEqual([200, { applied: 'yes' }]);
  });

  test('with an Idempotency-Key is made once, and answered like the first time', async () => {
    const name = newName();
    const send = (): Promise<WireResponse> =>
      client.patch(`${articles}/${name}?${as('me')}`, article(name, { title: 'a' }), {
        ...applyPatch,
        ...whole,
        'idempotency-key': name,
      });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true']);
    expect(second.body).toEqual(first.body);
  });

  test('uses its resourceVersion and If-Match as preconditions', async () => {
    const name = newName();
    const path = `${articles}/${name}`;
    const { body } = await apply(path, article(name, { title: 'a' }), as('me'));
    const { resourceVersion } = body.metadata;
    expect((await apply(path, article(name, { title: 'b' }, { resourceVersion }), as('me'))).status).toBe(200);
    const stale = await apply(path, article(name, { title: 'c' }, { resourceVersion }), as('me'));
    expect([stale.status, stale.body.reason, stale.body.message]).toEqual([
      409,
      'Conflict',
      `Operation cannot be fulfilled on articles.contract.example.com "${name}": the object has been modified; please apply your changes to the latest version and try again`,
    ]);
    const tagged = await client.patch(`${path}?${as('me')}`, article(name, { title: 'd' }), {
      ...applyPatch,
      'if-match': `"${resourceVersion}"`,
    });
    expect(tagged.status).toBe(412);
  });
});

describe('an apply patch is refused', () => {
  const absent = `${articles}/absent`;
  test.each<[string, string, unknown, string, number, string | RegExp]>([
    [
      'without a field manager',
      absent,
      article('absent'),
      '',
      422,
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ],
    [
      'with a field manager that is too long',
      absent,
      article('absent'),
      as('x'.repeat(129)),
      422,
      /^PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: /,
    ],
    [
      'with managed fields',
      absent,
      article('absent', {}, { managedFields: [{}] }),
      as('me'),
      400,
      'metadata.managedFields must be nil',
    ],
    [
      'with a field that the schema does not have',
      absent,
      article('absent', { nope: 1 }),
      as('me'),
      400,
      `failed to create typed patch object (/absent; ${apiVersion}, Kind=Article): .spec.nope: field not declared in schema`,
    ],
    [
      'with another apiVersion',
      absent,
      { ...article('absent'), apiVersion: 'other/v1' },
      as('me'),
      400,
      /^the API version in the data \(other\/v1\) does not match the expected API version/,
    ],
    ['with another kind', absent, { ...article('absent'), kind: 'Other' }, as('me'), 400, /kind in the data/],
    [
      'with another name',
      absent,
      article('other'),
      as('me'),
      400,
      'the name of the object (other) does not match the name on the URL (absent)',
    ],
    ['without a name', absent, { apiVersion, kind: 'Article', spec: {} }, as('me'), 400, /^name must be provided/],
    ['that is a list', absent, [], as('me'), 400, 'the body of the request must be an object'],
    ['that is no YAML', absent, '{', as('me'), 400, /./],
    [
      'for an object with a uid that does not exist',
      absent,
      article('absent', {}, { uid: 'a-b' }),
      as('me'),
      409,
      'Operation cannot be fulfilled on articles.contract.example.com "absent": uid mismatch: the provided object specified uid a-b, and no existing object was found',
    ],
    [
      'for an object with a resourceVersion that does not exist',
      absent,
      article('absent', {}, { resourceVersion: '5' }),
      as('me'),
      409,
      /resourceVersion/,
    ],
    [
      'with a value that is not valid',
      absent,
      article('absent', { priority: 'high' }),
      as('me'),
      400,
      /\.spec\.priority/,
    ],
    [
      'with null in a field that does not allow it',
      absent,
      article('absent', { title: null }),
      as('me'),
      422,
      'Article.contract.example.com "absent" is invalid: spec.title: Invalid value: "null": spec.title in body must be of type string: "null"',
    ],
    [
      'with null in a list whose items do not allow it',
      absent,
      article('absent', { tags: ['a', null] }),
      as('me'),
      422,
      'Article.contract.example.com "absent" is invalid: spec.tags[1]: Invalid value: "null": spec.tags[1] in body must be of type string: "null"',
    ],
    [
      'in a namespace that does not exist',
      `${notesIn('nowhere')}/a`,
      note('a'),
      as('me'),
      404,
      /namespaces "nowhere" not found/,
    ],
  ])('%s', async (_, path, config, query, code, message) => {
    const { status, body } = await apply(path, config, query);
    expect([status, body.message]).toEqual([
      code,
      expect.stringMatching(
        typeof message === 'string' ? `^${message.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$` : message,
      ),
    ]);
    expect((await client.get(path)).status).toBe(404);
  });

  test('with a duplicate key: under Strict, after conflicts; otherwise it is a warning', async () => {
    const name = newName();
    const text = `apiVersion: ${apiVersion}\nkind: Article\nmetadata: { name: ${name} }\nspec:\n  title: a\n  title: b\n`;
    const strict = await apply(`${articles}/${name}`, text, as('me', '&fieldValidation=Strict'));
    expect([strict.status, strict.body.message]).toEqual([
      400,
      'error strict decoding patch: duplicate field "spec.title"',
    ]);
    const warned = await apply(`${articles}/${name}`, text, as('me'));
    expect([warned.status, warned.body.spec]).toEqual([201, { title: 'b' }]);
    expect(warned.headers.get('warning')).toContain('duplicate field');
    await client.patch(`${articles}/${name}?fieldManager=other`, { spec: { title: 'c' } });
    const conflict = await apply(`${articles}/${name}`, text, as('me', '&fieldValidation=Strict'));
    expect(conflict.status).toBe(409);
  });
});
