import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, type ContractClient, type WireBody } from './client.ts';
import { article, articles, registerModels, report, reports } from './models.ts';

let env: TestEnv;
let client: ContractClient;
let stored: WireBody;
let path = '';
let count = 0;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
beforeEach(async () => {
  const name = `r-${(count += 1)}`;
  stored = (
    await client.post(reports, { ...report(name, { size: 1 }, { labels: { a: 'b' } }), status: { phase: 'Claimed' } })
  ).body;
  path = `${reports}/${name}`;
});
afterAll(() => env.stop());

const withStatus = (status: unknown, spec: object = { size: 1 }, metadata: object = { labels: { a: 'b' } }) => ({
  ...report(stored.metadata.name, { ...spec }, { ...metadata }),
  status,
});

describe('if the model declares the subresource', () => {
  test('create ignores the status', () => {
    expect([stored.status, stored.metadata.generation]).toEqual([undefined, 1]);
  });

  test('PUT on the object ignores the status', async () => {
    await client.put(`${path}/status`, withStatus({ phase: 'Set' }));
    const { status, body } = await client.put(path, withStatus({ phase: 'Ignored' }, { size: 2 }));
    expect([status, body.spec, body.status, body.metadata.generation]).toEqual([200, { size: 2 }, { phase: 'Set' }, 2]);
    const absent = await client.put(path, { ...withStatus(undefined), status: undefined });
    expect(absent.body.status).toEqual({ phase: 'Set' });
  });

  test('a patch of the object ignores the status, and is a no-op without other changes', async () => {
    const { body: before } = await client.put(`${path}/status`, withStatus({ phase: 'Set' }));
    for (const answer of [
      await client.patch(path, { status: { phase: 'Ignored' } }),
      await client.patch(path, { status: null }),
      await client.patch(path, [{ op: 'replace', path: '/status/phase', value: 'Ignored' }], jsonPatch),
      await client.put(path, withStatus({ phase: 'Ignored' })),
    ]) {
      expect([answer.status, answer.body]).toEqual([200, before]);
    }
  });

  test('PUT on /status ignores the rest and keeps the generation', async () => {
    const { status, body } = await client.put(
      `${path}/status`,
      withStatus({ phase: 'Set' }, { size: 9 }, { labels: { a: 'z' }, annotations: { x: 'y' } }),
    );
    expect([status, body.status, body.spec, body.metadata.labels, body.metadata.generation]).toEqual([
      200,
      { phase: 'Set' },
      { size: 1 },
      { a: 'b' },
      1,
    ]);
    expect(body.metadata.annotations).toBeUndefined();
    expect(BigInt(body.metadata.resourceVersion)).toBeGreaterThan(BigInt(stored.metadata.resourceVersion));
    expect((await client.get(path)).body).toEqual(body);
    expect((await client.get(`${path}/status`)).body).toEqual(body);
  });

  test('PATCH on /status merges the status and ignores the rest', async () => {
    await client.patch(`${path}/status`, { status: { phase: 'Set' }, spec: { size: 9 } });
    const { status, body } = await client.patch(`${path}/status`, { status: { count: 3 } });
    expect([status, body.status, body.spec, body.metadata.generation]).toEqual([
      200,
      { phase: 'Set', count: 3 },
      { size: 1 },
      1,
    ]);
  });

  test('a no-op on /status keeps the resource version', async () => {
    const first = await client.put(`${path}/status`, withStatus({ phase: 'Set' }));
    const second = await client.put(`${path}/status`, withStatus({ phase: 'Set' }, { size: 7 }));
    expect([second.status, second.body]).toEqual([200, first.body]);
  });

  test('the status is validated and pruned', async () => {
    const refused = await client.put(`${path}/status`, withStatus({ phase: 'x'.repeat(21), count: 'many' }));
    expect([refused.status, refused.body.details.causes?.map(({ field }) => field)]).toEqual([
      422,
      ['status.count', 'status.phase'],
    ]);
    const pruned = await client.put(`${path}/status`, withStatus({ phase: 'Set', bogus: 1 }));
    expect([pruned.status, pruned.body.status]).toEqual([200, { phase: 'Set' }]);
  });

  test('the spec of a write on /status is not validated', async () => {
    expect((await client.put(`${path}/status`, withStatus({ phase: 'Set' }, { size: 5000 }))).status).toBe(200);
  });

  test('preconditions apply to /status', async () => {
    await client.patch(path, { spec: { size: 2 } });
    const { resourceVersion } = stored.metadata;
    expect((await client.put(`${path}/status`, withStatus({ phase: 'Set' }, {}, { resourceVersion }))).status).toBe(
      409,
    );
    expect(
      (await client.put(`${path}/status`, withStatus({ phase: 'Set' }), { 'if-match': `"${resourceVersion}"` })).status,
    ).toBe(412);
    expect((await client.put(`${path}/status`, withStatus({ phase: 'Set' }, {}, { uid: 'other' }))).status).toBe(409);
    expect((await client.put(`${path}/status`, withStatus({ phase: 'Set' }))).status).toBe(200);
  });

  test('the body must name the same object', async () => {
    expect((await client.put(`${path}/status`, { ...withStatus({}), kind: 'Article' })).status).toBe(400);
    expect((await client.put(`${path}/status`, { ...withStatus({}), metadata: { name: 'zz' } })).status).toBe(400);
    expect((await client.put(`${reports}/absent/status`, report('absent'))).status).toBe(404);
    expect((await client.patch(`${reports}/absent/status`, {})).status).toBe(404);
  });

  test.each(['POST', 'DELETE'])('%s on /status is 405', async (method) => {
    const { status, body } = await client.send(
      method,
      `${path}/status`,
      method === 'POST' ? { body: withStatus({}) } : {},
    );
    expect([status, body.reason]).toEqual([405, 'MethodNotAllowed']);
    expect((await client.get(path)).body).toEqual(stored);
  });
});

describe('if it does not', () => {
  test('the status is a field of the object', async () => {
    const created = await client.post(articles, { ...article('plain'), status: { phase: 'A' } });
    expect([created.status, created.body.status]).toEqual([201, { phase: 'A' }]);
    const put = await client.put(`${articles}/plain`, { ...article('plain'), status: { phase: 'B' } });
    expect([put.body.status, put.body.metadata.generation]).toEqual([{ phase: 'B' }, 2]);
    const patched = await client.patch(`${articles}/plain`, { status: { count: 1 } });
    expect([patched.body.status, patched.body.metadata.generation]).toEqual([{ phase: 'B', count: 1 }, 3]);
  });

  test.each(['GET', 'PUT', 'PATCH'])('%s of /status is 404', async (method) => {
    await client.post(articles, article('absent-status'));
    const sending =
      method === 'GET'
        ? {}
        : {
            body: article('absent-status'),
            headers: method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {},
          };
    expect((await client.send(method, `${articles}/absent-status/status`, sending)).status).toBe(404);
  });
});

describe('the generation', () => {
  test.each([
    ['labels', { metadata: { labels: { c: 'd' } } }, 1],
    ['annotations', { metadata: { annotations: { c: 'd' } } }, 1],
    ['finalizers', { metadata: { finalizers: ['example.com/x'] } }, 1],
    ['ownerReferences', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }] } }, 1],
    ['the spec', { spec: { size: 5 } }, 2],
    ['spec and labels', { spec: { size: 5 }, metadata: { labels: { c: 'd' } } }, 2],
    ['nothing', { spec: { size: 1 } }, 1],
  ])('after a change of %s', async (_, patch, generation) => {
    expect((await client.patch(path, patch)).body.metadata.generation).toBe(generation);
  });
});

test.each(['scale', 'bogus', 'status/more', ''])('the subresource %j is 404', async (subresource) => {
  const { status } = await client.get(`${path}/${subresource}`);
  expect(subresource === '' ? [200, 404] : [404]).toContain(status);
});
