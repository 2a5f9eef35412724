import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { notesPath, newTestPost, posts, startTestApi, type TestApi } from '../start-test-api.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
  expect((await lease('publishing', { holderIdentity: 'me', leaseTransitions: 3 })).status).toBe(201);
});

afterAll(() => api?.stop());

const lease = (name: string, spec: object) =>
  api.call('POST', leases, { body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec } });
const merge = { 'Content-Type': 'application/merge-patch+json' };
const held = { 'X-SVC-Fence': 'default/publishing@3' };
const lost = { 'X-SVC-Fence': 'default/publishing@2' };
const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'a' }, spec: { replicas: 5 } };

/** Every kind of write; each request changes something, even if it is repeated. */
const writes: [string, string, string, (mark: string) => { body?: unknown; headers?: Record<string, string> }][] = [
  ['POST', 'POST', posts, (mark) => ({ body: newTestPost(undefined, { title: mark }, { generateName: 'made-' }) })],
  ['PUT', 'PUT', `${posts}/a`, (mark) => ({ body: newTestPost('a', { title: mark }) })],
  ['PATCH', 'PATCH', `${posts}/a`, (mark) => ({ body: { spec: { title: mark } }, headers: merge })],
  ['PUT of status', 'PUT', `${posts}/a/status`, (mark) => ({ body: { ...newTestPost('a'), status: { phase: mark } } })],
  ['PATCH of status', 'PATCH', `${posts}/a/status`, (mark) => ({ body: { status: { phase: mark } }, headers: merge })],
  ['PUT of scale', 'PUT', `${posts}/a/scale`, () => ({ body: scale })],
  ['PATCH of scale', 'PATCH', `${posts}/a/scale`, () => ({ body: { spec: { replicas: 6 } }, headers: merge })],
  ['DELETE', 'DELETE', `${posts}/a`, () => ({})],
  ['DELETE of a collection', 'DELETE', `${posts}?labelSelector=of%3Dall`, () => ({})],
];

/** All objects of the model. */
const all = async (): Promise<unknown> => (await api.call('GET', posts)).body.items;

async function fill(): Promise<void> {
  await api.call('DELETE', posts);
  for (const name of ['a', 'b', 'c'])
    expect((await api.call('POST', posts, { body: newTestPost(name, {}, { labels: { of: 'all' } }) })).status).toBe(
      201,
    );
}

describe.each(writes)('%s', (_case, method, path, request) => {
  const call = (mark: string, headers: Record<string, string>, query = '') => {
    const { body, headers: own } = request(mark);
    return api.call(method, `${path}${query === '' ? '' : `${path.includes('?') ? '&' : '?'}${query}`}`, {
      ...(body === undefined ? {} : { body }),
      headers: { ...own, ...headers },
    });
  };

  test('is refused, also as a dry run, if the lease has changed hands, and done while it is held', async () => {
    await fill();
    const before = await all();
    for (const query of ['', 'dryRun=All']) {
      const refused = await call('lost', lost, query);
      expect(refused).toMatchObject({
        status: 409,
        body: {
          reason: 'Conflict',
          message: expect.stringMatching(
            /the lease default\/publishing is no longer held after 2 transitions: another leads, or nobody does$/,
          ),
        },
      });
      expect(refused.body.details.causes).toEqual([
        { reason: 'FieldValueInvalid', message: expect.any(String), field: 'X-SVC-Fence' },
      ]);
    }
    expect((await call('dry', held, 'dryRun=All')).status).toBe(method === 'POST' ? 201 : 200);
    expect(await all()).toEqual(before);
    expect((await call('held', held)).status).toBe(method === 'POST' ? 201 : 200);
    expect(await all()).not.toEqual(before);
  });

  test('is 400 with a malformed fence', async () => {
    await fill();
    const before = await all();
    for (const fence of [
      '',
      'default/publishing',
      'Default/publishing@3',
      `default/${'x'.repeat(300)}@1`,
      'default/publishing@3, default/publishing@3',
    ]) {
      const answer = await call('malformed', { 'X-SVC-Fence': fence });
      expect(answer).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest', message: expect.stringMatching(/^the header X-SVC-Fence /) },
      });
    }
    expect(await all()).toEqual(before);
  });
});

test('reads ignore a fence', async () => {
  await fill();
  for (const path of [posts, `${posts}/a`, `${posts}/a/status`, notesPath, '/apis']) {
    for (const fence of ['default/publishing@2', '?'])
      expect((await api.call('GET', path, { headers: { 'X-SVC-Fence': fence } })).status).toBe(200);
  }
});

test('a write that changes nothing does not check the lease', async () => {
  await fill();
  expect((await api.call('PATCH', `${posts}/a`, { body: {}, headers: { ...merge, ...lost } })).status).toBe(200);
});

test('the outcome of an Idempotency-Key is repeated, whoever leads by then; a refusal is not remembered', async () => {
  const request = (fence: string) => ({
    body: newTestPost('repeated'),
    headers: { 'Idempotency-Key': 'fenced', 'X-SVC-Fence': fence },
  });
  expect((await api.call('POST', posts, request('default/publishing@2'))).status).toBe(409);
  expect((await api.call('POST', posts, request('default/publishing@3'))).status).toBe(201);
  const again = await api.call('POST', posts, request('default/publishing@2'));
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
});

test('conflicts of a model and of a fence are distinguished', async () => {
  const invalid = await api.call('POST', posts, { body: newTestPost('invalid', { title: 5 }), headers: lost });
  expect(invalid.status).toBe(422);
  expect((await api.call('PUT', `${posts}/nobody`, { body: newTestPost('nobody'), headers: lost })).status).toBe(404);
});

test('a browser may send the header', async () => {
  const browsers = await startTestApi({
    http: { host: '127.0.0.1', port: 0, allowedOrigins: ['https://app.example.com'] },
  });
  try {
    const headers = {
      Origin: 'https://app.example.com',
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'x-svc-fence',
    };
    expect(
      (await browsers.call('OPTIONS', `${posts}/a`, { headers })).headers.get('access-control-allow-headers'),
    ).toContain('X-SVC-Fence');
  } finally {
    await browsers.stop();
  }
});
