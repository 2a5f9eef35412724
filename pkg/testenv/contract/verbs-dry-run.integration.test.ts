import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, type WireResponse, type ContractClient } from './client.ts';
import { article, articles, registerModels, report, reports } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { title: 'kept', slug: 'kept' }, { labels: { set: 'kept' } }));
  await client.post(articles, article('held', {}, { finalizers: ['example.com/one'] }));
  await client.post(articles, article('leaving', {}, { finalizers: ['example.com/one'] }));
  await client.delete(`${articles}/leaving`);
  await client.post(reports, report('kept', { size: 1 }));
});
afterAll(() => env.stop());

const fine: [string, (query: string) => Promise<WireResponse>, number, (answer: WireResponse) => unknown, unknown][] = [
  [
    'POST',
    (query) => client.post(`${articles}${query}`, article('dry', { title: 'a' })),
    201,
    ({ body }) => [body.metadata.name, body.spec],
    ['dry', { title: 'a' }],
  ],
  [
    'PUT',
    (query) => client.put(`${articles}/kept${query}`, article('kept', { title: 'b' })),
    200,
    ({ body }) => body.spec,
    { title: 'b' },
  ],
  [
    'merge patch',
    (query) => client.patch(`${articles}/kept${query}`, { spec: { title: 'b' } }),
    200,
    ({ body }) => body.spec['title'],
    'b',
  ],
  [
    'JSON patch',
    (query) => client.patch(`${articles}/kept${query}`, [{ op: 'add', path: '/spec/title', value: 'b' }], jsonPatch),
    200,
    ({ body }) => body.spec['title'],
    'b',
  ],
  ['DELETE', (query) => client.delete(`${articles}/kept${query}`), 200, ({ body }) => body.status, 'Success'],
  [
    'DELETE of an object with finalizers',
    (query) => client.delete(`${articles}/held${query}`),
    200,
    ({ body }) => body.metadata.deletionTimestamp,
    expect.any(String),
  ],
  [
    'the last finalizer',
    (query) => client.patch(`${articles}/leaving${query}`, { metadata: { finalizers: null } }),
    200,
    ({ body }) => body.metadata.name,
    'leaving',
  ],
  [
    'DELETE of a collection',
    (query) => client.delete(`${articles}${query}&labelSelector=set%3Dkept`),
    200,
    ({ status }) => status,
    200,
  ],
  [
    'PUT of the status',
    (query) => client.put(`${reports}/kept/status${query}`, { ...report('kept'), status: { phase: 'Done' } }),
    200,
    ({ body }) => body.status,
    { phase: 'Done' },
  ],
  [
    'PATCH of the status',
    (query) => client.patch(`${reports}/kept/status${query}`, { status: { phase: 'Done' } }),
    200,
    ({ body }) => body.status,
    { phase: 'Done' },
  ],
];

async function everything(): Promise<unknown[]> {
  const lists = await Promise.all([client.get(articles), client.get(reports)]);
  return lists.map(({ body }) => body.items);
}

test.each(fine)(
  '%s has the answer of a real request, stores nothing and gives no event',
  async (reason, write, status, pick, expected) => {
    const before = await everything();
    const { resourceVersion } = (await client.get(articles)).body.metadata;
    const answer = await write('?dryRun=All');
    expect([answer.status, pick(answer)]).toEqual([status, expected]);
    if (reason === 'POST') expect(answer.body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(await everything()).toEqual(before);
    const last = `sentinel-${fine.findIndex(([each]) => each === reason)}`;
    for (const [path, object] of [
      [articles, article(last)],
      [reports, report(last)],
    ] as const) {
      await client.post(path, object);
      expect(await watchedUntil(env, path, { resourceVersion, last })).toEqual([]);
    }
  },
);

test('DELETE accepts dryRun in the body too', async () => {
  expect((await client.delete(`${articles}/kept`, { body: { dryRun: ['All'] } })).status).toBe(200);
  expect((await client.get(`${articles}/kept`)).status).toBe(200);
});

test.each([
  ['the schema', () => client.post(`${articles}?dryRun=All`, article('x', { priority: 5000 })), 422],
  ['labels', () => client.post(`${articles}?dryRun=All`, article('x', {}, { labels: { 'svc.run/mine': 'x' } })), 422],
  ['what exists', () => client.post(`${articles}?dryRun=All`, article('kept')), 409],
  ['a unique index', () => client.post(`${articles}?dryRun=All`, article('x', { slug: 'kept' })), 409],
  [
    'a stale resourceVersion',
    () => client.put(`${articles}/kept?dryRun=All`, article('kept', { title: 'z' }, { resourceVersion: '1' })),
    409,
  ],
  [
    'If-Match',
    () => client.put(`${articles}/kept?dryRun=All`, article('kept', { title: 'z' }), { 'if-match': '"1"' }),
    412,
  ],
  ['a missing object', () => client.delete(`${articles}/absent?dryRun=All`), 404],
  ['preconditions', () => client.delete(`${articles}/kept?dryRun=All`, { body: { preconditions: { uid: 'x' } } }), 409],
  [
    'unknown fields',
    () => client.post(`${articles}?dryRun=All&fieldValidation=Strict`, article('x', { bogus: 1 })),
    400,
  ],
] as const)('the whole pipeline runs: %s', async (_, write, status) => {
  const before = await everything();
  expect((await write()).status).toBe(status);
  expect(await everything()).toEqual(before);
});

test.each(['true', 'all', 'None', ''])('dryRun=%s is refused or means no dry run', async (value) => {
  const { status } = await client.post(`${articles}?dryRun=${value}`, article('odd'));
  if (value === '') expect([201, 400, 422]).toContain(status);
  else expect([400, 422]).toContain(status);
  expect((await client.get(`${articles}/odd`)).status).toBe(status === 201 ? 200 : 404);
});

test('a name stays free after a dry run', async () => {
  expect((await client.post(`${articles}?dryRun=All`, article('tried'))).status).toBe(201);
  expect((await client.post(articles, article('tried'))).status).toBe(201);
});

test('generateName gives a name', async () => {
  const { status, body } = await client.post(`${articles}?dryRun=All`, {
    ...article('x'),
    metadata: { generateName: 'dry-' },
  });
  expect([status, body.metadata.name]).toEqual([201, expect.stringMatching(/^dry-[a-z0-9]{5}$/)]);
  expect((await client.get(`${articles}/${body.metadata.name}`)).status).toBe(404);
});
