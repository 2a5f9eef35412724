import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApi, type TestApi } from '../../handlers/start-test-api.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const merge = { 'Content-Type': 'application/merge-patch+json' };

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

function configMap(name: string, content: object): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...content };
}

test('a ConfigMap is created, changed, and fixed by `immutable`', async () => {
  const created = await api.call('POST', configMaps, {
    body: configMap('a', { data: { text: 'x', none: null }, binaryData: { bytes: 'eA\n==' } }),
  });
  expect(created).toMatchObject({
    status: 201,
    body: { data: { text: 'x', none: '' }, binaryData: { bytes: 'eA==' } },
  });
  const fixed = await api.call('PATCH', `${configMaps}/a`, {
    body: { immutable: true, data: { none: null } },
    headers: merge,
  });
  expect(fixed).toMatchObject({ status: 200, body: { data: { text: 'x' }, immutable: true } });
  const refused = await api.call('PATCH', `${configMaps}/a`, {
    body: { immutable: null, data: { text: 'y' } },
    headers: merge,
  });
  expect(refused).toMatchObject({
    status: 422,
    body: {
      message:
        'ConfigMap "a" is invalid: [data: Forbidden: field is immutable when `immutable` is set, immutable: Forbidden: field is immutable when `immutable` is set]',
    },
  });
  expect((await api.call('DELETE', `${configMaps}/a`)).status).toBe(200);
});

test.each<[string, object, string]>([
  ['a wrong type', { data: { a: 1 } }, 'data.a in body must be of type string: "integer"'],
  ['a key that is no file name', { data: { 'a/b': '' } }, 'data[a/b]: Invalid value: "a/b": a valid config key must'],
  ['over 1 MiB', { data: { a: 'x'.repeat((1 << 20) + 1) } }, '[]: Too long: may not be more than 1048576 bytes'],
])('%s is refused', async (_reason, content, message) => {
  const refused = await api.call('POST', configMaps, { body: configMap('bad', content) });
  expect(refused).toMatchObject({ status: 422, body: { message: expect.stringContaining(message) } });
});

test('the namespaces that tools of Kubernetes read exist, and are never deleted', async () => {
  for (const name of ['default', 'kube-system', 'kube-public']) {
    const path = `/api/v1/namespaces/${name}`;
    expect(await api.call('GET', path)).toMatchObject({ status: 200, body: { status: { phase: 'Active' } } });
    expect(await api.call('DELETE', path)).toMatchObject({
      status: 403,
      body: { message: `namespaces "${name}" is forbidden: this namespace may not be deleted` },
    });
  }
});
