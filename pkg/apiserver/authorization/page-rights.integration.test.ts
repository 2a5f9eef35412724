import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { startTestRbac, testUser, type RbacTestResponse, type TestRbac } from './start-test-rbac.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const pages = '/apis/console.svc.run/v1alpha1/consolepages';
const maps = '/api/v1/namespaces/default/configmaps';
const secrets = '/api/v1/namespaces/default/secrets';
const quotas = '/api/v1/namespaces/default/resourcequotas';
const reviews = '/apis/authorization.k8s.io/v1';
const tokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';

let server: TestRbac;

const rule = (verbs: string[], resources: string[], more: JsonObject = {}): JsonObject => ({
  apiGroups: [''],
  resources,
  verbs,
  ...more,
});

beforeAll(async () => {
  server = await startTestRbac();
  // Ada may write what `edit` has, eve may read what `view` has.
  for (const [name, role] of [
    ['ada', 'edit'],
    ['eve', 'view'],
  ] as const) {
    server.users.set(name, testUser(name));
    await made('POST', `${rbac}/clusterrolebindings`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'User', name }],
    });
  }
  await addPage('board', [
    rule(['get', 'list', 'watch', 'create', 'update'], ['configmaps']),
    rule(['get'], ['resourcequotas']),
    rule(['patch'], ['configmaps'], { resourceNames: ['mine'] }),
    { apiGroups: ['authorization.k8s.io'], resources: ['*'], verbs: ['create'] },
  ]);
  await addPage('greedy', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
  await addPage('silent', []);
  await addPage('applier', [rule(['patch'], ['configmaps'])]);
  await addPage('granter', [
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] },
  ]);
  await made('POST', maps, map('mine'));
  await made('POST', quotas, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: {} } });
});
afterAll(() => server.stop());

const map = (name: string): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: {} });
const page = (name: string, rules: readonly JsonObject[]): JsonObject => ({
  apiVersion: 'console.svc.run/v1alpha1',
  kind: 'ConsolePage',
  metadata: { name, labels: { 'svc.run/plugin': `plugin-of-${name}` } },
  spec: { title: name, frame: { file: 'a.html' }, rules: [...rules] },
});

async function made(method: string, path: string, body: JsonObject): Promise<void> {
  const { status, body: answer } = await server.call('root', method, path, body);
  expect({ path, status, answer }).toMatchObject({ status: expect.any(Number), path });
  expect([200, 201]).toContain(status);
}

const addPage = (name: string, rules: readonly JsonObject[]): Promise<void> => made('POST', pages, page(name, rules));

/** What a page sends for its user. */
function through(
  pageName: string,
  user: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<RbacTestResponse> {
  return server.call(user, method, path, body, { 'X-SVC-Page': pageName, ...headers });
}

const statusOf = async (...call: Parameters<typeof through>): Promise<number> => (await through(...call)).status;

describe('a request of a page', () => {
  test.each([
    ['reads what its rules name', 'ada', 'GET', `${maps}/mine`, 200],
    ['lists it', 'ada', 'GET', maps, 200],
    ['lists it in all namespaces', 'ada', 'GET', '/api/v1/configmaps', 200],
    ['not what the user may and the rules do not name', 'ada', 'GET', secrets, 403],
    ['not with another verb', 'ada', 'DELETE', `${maps}/mine`, 403],
    ['not all at once', 'ada', 'DELETE', maps, 403],
    ['a resource', 'ada', 'GET', `${quotas}/q`, 200],
    ['not its subresource', 'ada', 'GET', `${quotas}/q/status`, 403],
    ['not discovery', 'ada', 'GET', '/apis', 403],
    ['not a path that is open to anyone', 'ada', 'GET', '/version', 403],
    ['not a probe', 'ada', 'GET', '/readyz', 403],
    ['not its own rules', 'ada', 'GET', `${pages}/board`, 403],
  ])('%s', async (_what, user, method, path, status) => {
    expect(await statusOf('board', user, method, path)).toBe(status);
  });

  test('writes and creates only what its rules name, also by an apply', async () => {
    expect(await statusOf('board', 'ada', 'POST', maps, map('made'))).toBe(201);
    expect(await statusOf('board', 'ada', 'PUT', `${maps}/made`, map('made'))).toBe(200);
    const patched = { 'Content-Type': 'application/merge-patch+json' };
    expect(await statusOf('board', 'ada', 'PATCH', `${maps}/made`, { data: { a: 'b' } }, patched)).toBe(403);
    expect(await statusOf('board', 'ada', 'PATCH', `${maps}/mine`, { data: { a: 'b' } }, patched)).toBe(200);
    const applied = { 'Content-Type': 'application/apply-patch+yaml' };
    const apply = (name: string): Promise<number> =>
      statusOf('applier', 'ada', 'PATCH', `${maps}/${name}?fieldManager=a&force=true`, map(name), applied);
    expect([await apply('mine'), await apply('new')]).toEqual([200, 403]);
  });

  test('never has more than its user, and no role of its user has more than it', async () => {
    expect(await statusOf('board', 'eve', 'GET', maps)).toBe(200);
    expect(await statusOf('board', 'eve', 'POST', maps, map('of-eve'))).toBe(403);
    expect(await statusOf('greedy', 'eve', 'GET', secrets)).toBe(403);
    expect(await statusOf('board', 'root', 'GET', secrets)).toBe(403);
    expect(await statusOf('silent', 'root', 'GET', maps)).toBe(403);
    const { body } = await through('board', 'root', 'GET', secrets);
    expect(body.message).toContain('the rules of the page "board" do not allow it');
  });

  test('of a page that is not known is refused', async () => {
    for (const name of ['nobody', '', 'board, board', '__proto__', 'constructor', 'x'.repeat(4000)])
      expect([name.slice(0, 20), await statusOf(name, 'root', 'GET', maps)]).toEqual([name.slice(0, 20), 403]);
  });

  test('gets no token, acts as nobody else, and gives no page more rules, whatever its rules say', async () => {
    expect(await statusOf('greedy', 'root', 'GET', secrets)).toBe(200);
    expect(await statusOf('greedy', 'root', 'POST', tokens, {})).toBe(403);
    expect(await statusOf('greedy', 'root', 'GET', maps, undefined, { 'Impersonate-User': 'ada' })).toBe(403);
    expect(await statusOf('greedy', 'root', 'GET', pages)).toBe(200);
    expect(await statusOf('greedy', 'root', 'POST', pages, page('more', []))).toBe(403);
    expect(await statusOf('greedy', 'root', 'DELETE', `${pages}/silent`)).toBe(403);
    const patched = { 'Content-Type': 'application/merge-patch+json' };
    expect(await statusOf('greedy', 'root', 'PATCH', `${pages}/board`, { spec: { rules: [] } }, patched)).toBe(403);
  });

  test('gives others no right that it does not have itself', async () => {
    const role = (name: string, rules: JsonObject[]): JsonObject => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name },
      rules,
    });
    const own = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['create'] };
    expect(await statusOf('granter', 'root', 'POST', `${rbac}/clusterroles`, role('of-page', [own]))).toBe(201);
    const more = role('of-user', [rule(['get'], ['secrets'])]);
    expect(await statusOf('granter', 'root', 'POST', `${rbac}/clusterroles`, more)).toBe(403);
    expect((await server.call('root', 'POST', `${rbac}/clusterroles`, more)).status).toBe(201);
  });

  test('learns by reviews what is left of the rights', async () => {
    const ask = async (resource: string): Promise<boolean> => {
      const spec = { resourceAttributes: { verb: 'list', group: '', resource, namespace: 'default' } };
      const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
      return (await through('board', 'ada', 'POST', `${reviews}/selfsubjectaccessreviews`, review)).body.status.allowed;
    };
    expect([await ask('configmaps'), await ask('secrets')]).toEqual([true, false]);
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'default' },
    };
    const { body } = await through('board', 'ada', 'POST', `${reviews}/selfsubjectrulesreviews`, review);
    expect(JSON.stringify(body.status.resourceRules)).toContain('configmaps');
    expect(JSON.stringify(body.status.resourceRules)).not.toContain('secrets');
  });
});

describe('a watch of a page', () => {
  test('is authorized for itself, also within a stream', async () => {
    expect(await statusOf('board', 'ada', 'GET', `${secrets}?watch=true`)).toBe(403);
    const subscription = (resource: string): JsonObject => ({
      id: resource,
      version: 'v1',
      resource,
      namespace: 'default',
    });
    const response = await fetch(`${server.url}/apis/stream.svc.run/v1alpha1/streams`, {
      method: 'POST',
      headers: { authorization: 'Bearer ada', 'content-type': 'application/json', 'x-svc-page': 'board' },
      body: JSON.stringify({ subscriptions: [subscription('secrets'), subscription('configmaps')] }),
    });
    expect(response.status).toBe(200);
    const seen = new Map<string, unknown>();
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (seen.size < 2) {
      const { value, done } = await reader.read();
      expect(done).toBe(false);
      const lines = (text + value!).split('\n');
      text = lines.pop()!;
      for (const line of lines) {
        const { id, type, object } = JSON.parse(line) as { id: string; type: string; object: { code?: number } };
        if (!seen.has(id)) seen.set(id, object.code ?? type);
      }
    }
    expect(Object.fromEntries(seen)).toEqual({ secrets: 403, configmaps: 'ADDED' });
    await reader.cancel();
  });

  test('ends when the rules no longer allow it, and with the page', async () => {
    await addPage('leaving', [rule(['watch'], ['configmaps'])]);
    const watch = async (): Promise<AsyncGenerator<{ type: string; object: { code?: number } }>> => {
      const response = await fetch(`${server.url}${maps}?watch=true`, {
        headers: { authorization: 'Bearer ada', 'x-svc-page': 'leaving' },
      });
      expect(response.status).toBe(200);
      return linesOf(response.body!);
    };
    const lastOf = async (events: Awaited<ReturnType<typeof watch>>): Promise<unknown> => {
      let last: { object: { code?: number } } | undefined;
      for await (const event of events) last = event;
      return last?.object.code;
    };
    const first = await watch();
    const second = await watch();
    await made('PUT', `${pages}/leaving`, page('leaving', [rule(['watch'], ['secrets'])]));
    expect(await Promise.all([lastOf(first), lastOf(second)])).toEqual([403, 403]);
    expect(await statusOf('leaving', 'ada', 'GET', `${maps}?watch=true`)).toBe(403);
    expect((await server.call('root', 'DELETE', `${pages}/leaving`)).status).toBe(200);
    const { status, body } = await through('leaving', 'ada', 'GET', `${secrets}?watch=true`);
    expect([status, body.message]).toEqual([403, 'forbidden: the page "leaving" is not known']);
  });
});

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<{ type: string; object: { code?: number } }> {
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line !== '') yield JSON.parse(line) as { type: string; object: { code?: number } };
  }
}
