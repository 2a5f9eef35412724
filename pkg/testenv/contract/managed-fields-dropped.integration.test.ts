import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, type ContractClient, type WireBody, type WireMetadata } from './client.ts';
import { article, articles, registerModels, report, reports } from './models.ts';
import { RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

const partial = 'as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const drop = 'drop=metadata.managedFields';
const json = { accept: 'application/json' };
const dropped = { accept: `application/json;${drop}` };
const managedFields = [
  {
    manager: 'me',
    operation: 'Update',
    apiVersion: 'contract.example.com/v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:title': {} } },
  },
];

/** Stores an article that has managed fields, and returns its path. */
async function managedArticle(name: string): Promise<string> {
  const path = `${articles}/${name}`;
  await client.post(articles, article(name, { title: 'a' }), json);
  const { status } = await client.put(path, article(name, { title: 'b' }, { managedFields }), json);
  expect(status).toBe(200);
  return path;
}

const hasManaged = ({ metadata }: { metadata: WireMetadata }): boolean => Object.hasOwn(metadata, 'managedFields');

test.each([
  ['JSON', 'application/json', true],
  ['JSON without them', `application/json;${drop}`, false],
  ['any type without them', `*/*;${drop}`, false],
  ['another value of the parameter', 'application/json;drop=metadata.labels', true],
  ['metadata', `application/json;${partial}`, true],
  ['metadata without them', `application/json;${partial};${drop}`, false],
  ['the clause that the answer follows', `text/html;${drop}, application/json`, true],
])('GET, list and writes: %s', async (_, accept, has) => {
  const path = await managedArticle(`drop-${has}-${Math.random().toString(36).slice(2)}`);
  const { body: full } = await client.get(path, json);
  expect(hasManaged(full)).toBe(true);
  const { managedFields: _managed, ...rest } = full.metadata as WireMetadata & { managedFields: unknown };
  const { body } = await client.get(path, { accept });
  expect(body.metadata).toEqual(has ? full.metadata : rest);
  const { body: list } = await client.get(`${articles}?fieldSelector=metadata.name=${rest.name}`, { accept });
  expect(list.items.map(({ metadata }) => metadata)).toEqual([has ? full.metadata : rest]);
  const answers = [
    await client.patch(path, { spec: { title: 'c' } }, { accept }),
    await client.put(path, article(rest.name, { title: 'd' }), { accept }),
    await client.post(articles, article(`${rest.name}-2`), { accept }),
    await client.patch(path, { metadata: { finalizers: ['example.com/hold'] } }, { accept }),
    await client.delete(path, { headers: { accept } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 200]);
  const managed = answers.filter((_answer, i) => i !== 2).map(({ body: answer }) => hasManaged(answer));
  expect(managed).toEqual([has, has, has, has]);
  await client.patch(path, { metadata: { finalizers: null } });
});

test('YAML without them', async () => {
  const path = await managedArticle('yaml');
  const textOf = async (parameters: string): Promise<WireBody> =>
    parse((await client.get(path, { accept: `application/yaml${parameters}` })).text) as WireBody;
  expect(hasManaged(await textOf(''))).toBe(true);
  expect(hasManaged(await textOf(`;${drop}`))).toBe(false);
});

test('a watch: the first objects and later events, for watchers that ask for them and others', async () => {
  const path = await managedArticle('watched');
  const query = 'fieldSelector=metadata.name=watched&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const watches = await Promise.all(
    [
      'application/json',
      `application/json;${drop}`,
      `application/json;stream=watch;${partial};${drop}`,
      `text/event-stream;${drop}`,
    ].map((accept) =>
      RecordedWatch.open(env, `${articles}?${query}`, { headers: { accept }, sse: accept.startsWith('text') }),
    ),
  );
  await client.put(path, article('watched', { title: 'z' }));
  await client.delete(path);
  const seen = await Promise.all(
    watches.map(async (watch) => {
      await watch.until(({ changes }) => changes.length === 3);
      watch.close();
      return watch.changes.map(({ type, object }) => [type, hasManaged(object as unknown as WireBody)]);
    }),
  );
  const story = (has: boolean): unknown[] => ['ADDED', 'MODIFIED', 'DELETED'].map((type) => [type, has]);
  expect(seen).toEqual([story(true), story(false), story(false), story(false)]);
});

test('an answer of /status, and the replay of an idempotency key', async () => {
  await client.post(reports, report('status', { title: 'a' }));
  await client.put(`${reports}/status`, report('status', { title: 'a' }, { managedFields }));
  for (const [headers, has] of [
    [json, true],
    [dropped, false],
  ] as const) {
    const { body } = await client.patch(`${reports}/status/status`, { status: { phase: 'Done' } }, headers);
    expect(hasManaged(body)).toBe(has);
  }
  const path = await managedArticle('replayed');
  const put = (headers: Record<string, string>): ReturnType<ContractClient['put']> =>
    client.put(path, article('replayed', { title: 'y' }), { 'idempotency-key': 'managed-1', ...headers });
  const [first, replayed, brief] = [await put(json), await put(json), await put(dropped)];
  expect(replayed.body).toEqual(first.body);
  expect([hasManaged(first.body), hasManaged(brief.body)]).toEqual([true, false]);
});
