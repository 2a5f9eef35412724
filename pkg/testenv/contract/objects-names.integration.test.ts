import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, type ContractClient } from './client.ts';
import { article, articles, definitions, namespaces, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

describe('names', () => {
  test.each([
    ['one letter', 'a'],
    ['one digit', '7'],
    ['dashes inside', 'a-b--c'],
    ['253 characters', 'n'.repeat(253)],
    ['words that appear in paths', 'status'],
    ['a prototype key', 'constructor'],
    ['a JavaScript property name', 'null'],
  ])('%s is a name', async (_, name) => {
    const created = await client.post(articles, article(name));
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toMatch(new RegExp(`${articles}/${name}$`));
    const read = await client.get(`${articles}/${name}`);
    expect([read.status, read.body.metadata.name]).toEqual([200, name]);
  });

  test.each([
    ['a leading dash', '-a'],
    ['a trailing dash', 'a-'],
    ['254 characters', 'n'.repeat(254)],
    ['upper case', 'Abc'],
    ['a dot', 'a.b'],
    ['an underscore', 'a_b'],
    ['a slash', 'a/b'],
    ['a space', 'a b'],
    ['another alphabet', 'übung'],
    ['a line feed at the end', 'a\n'],
    ['dots only', '..'],
  ])('%s is refused with 422', async (_, name) => {
    const refused = await client.post(articles, article(name));
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({
      kind: 'Status',
      reason: 'Invalid',
      details: { kind: 'Article', group: 'contract.example.com' },
    });
    expect(refused.body.details.causes?.map(({ field }) => field)).toContain('metadata.name');
  });

  test.each(['a\0b', 'a\ud800'])('%j, which the database cannot hold, is refused', async (name) => {
    expect([400, 422]).toContain((await client.post(articles, article(name))).status);
  });

  test('no name and no generateName is 422', async () => {
    const refused = await client.post(articles, { ...article('x'), metadata: {} });
    expect([refused.status, refused.body.reason]).toEqual([422, 'Invalid']);
    const bare = await client.post(articles, { apiVersion: 'contract.example.com/v1', kind: 'Article', spec: {} });
    expect([bare.status, bare.body.reason]).toEqual([422, 'Invalid']);
  });

  test('built-in kinds follow the rules for their names', async () => {
    expect((await client.get(`${definitions}/articles.contract.example.com`)).status).toBe(200);
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'contract:view' },
      rules: [],
    };
    const created = await client.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', role);
    expect(created.status).toBe(201);
  });

  test('a name that must be escaped in a path is found where Location says', async () => {
    const name = 'contract:ä?#&+ b';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules: [] };
    const created = await client.post('/apis/rbac.authorization.k8s.io/v1/clusterroles', role);
    expect(created.status).toBe(201);
    const found = await client.get(created.headers.get('location')!.replace(env.url, ''));
    expect([found.status, found.body.metadata.name]).toEqual([200, name]);
  });
});

describe('generateName', () => {
  test('appends five characters', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, () => client.post(articles, { ...article(''), metadata: { generateName: 'made-' } })),
    );
    for (const { status, body, headers } of made) {
      expect(status).toBe(201);
      expect(body.metadata.name).toMatch(/^made-[a-z0-9]{5}$/);
      expect(body.metadata.generateName).toBe('made-');
      expect(headers.get('location')).toMatch(new RegExp(`${articles}/${body.metadata.name}$`));
    }
    expect(new Set(made.map(({ body }) => body.metadata.name)).size).toBe(20);
  });

  test('is ignored if there is a name', async () => {
    const { body } = await client.post(articles, article('chosen', {}, { generateName: 'made-' }));
    expect(body.metadata.name).toBe('chosen');
  });

  test('is stored, and the object can be written back', async () => {
    const { body } = await client.post(articles, { ...article('x'), metadata: { generateName: 'back-' } });
    const path = `${articles}/${body.metadata.name}`;
    const put = await client.put(path, body);
    expect([put.status, put.body]).toEqual([200, body]);
    expect((await client.put(path, article(body.metadata.name, { title: 'a' }))).status).toBe(200);
  });

  test.each(['Bad-', '-', 'a.b', 'a b'])('%j is refused with 422', async (generateName) => {
    expect((await client.post(articles, { ...article('x'), metadata: { generateName } })).status).toBe(422);
  });

  test('with a long prefix gives a valid name or a 422', async () => {
    const { status, body } = await client.post(articles, {
      ...article('x'),
      metadata: { generateName: 'g'.repeat(253) },
    });
    expect([201, 422]).toContain(status);
    if (status === 201) expect(body.metadata.name.length).toBeLessThanOrEqual(253);
  });
});

describe('what the server sets', () => {
  test('is ignored on create', async () => {
    const claimed = {
      uid: '00000000-0000-4000-8000-000000000000',
      resourceVersion: '99999999',
      generation: 77,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
    };
    const { status, body } = await client.post(articles, article('claimed', {}, claimed));
    expect(status).toBe(201);
    expect(body.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(body.metadata.uid).not.toBe(claimed.uid);
    expect(body.metadata.resourceVersion).toMatch(/^[1-9][0-9]*$/);
    expect(body.metadata.resourceVersion).not.toBe(claimed.resourceVersion);
    expect(body.metadata.generation).toBe(1);
    expect(body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(Math.abs(Date.now() - Date.parse(body.metadata.creationTimestamp))).toBeLessThan(60_000);
    expect(body.metadata.deletionTimestamp).toBeUndefined();
  });

  test('revisions grow with every write', async () => {
    const first = await client.post(articles, article('rises-a'));
    const second = await client.post(articles, article('rises-b'));
    expect(BigInt(second.body.metadata.resourceVersion)).toBeGreaterThan(BigInt(first.body.metadata.resourceVersion));
  });

  test('ownerReferences and finalizers are kept as they were sent', async () => {
    const owner = {
      apiVersion: 'contract.example.com/v1',
      kind: 'Article',
      name: 'a',
      uid: '11111111-1111-4111-8111-111111111111',
      controller: true,
    };
    const { body } = await client.post(articles, article('owned', {}, { ownerReferences: [owner] }));
    expect(body.metadata).toMatchObject({ ownerReferences: [owner] });
  });
});

test('the namespace default exists', async () => {
  expect((await client.get(`${namespaces}/default`)).body).toMatchObject({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'default' },
  });
});
