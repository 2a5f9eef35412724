import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newTestPost, posts, startTestApi, type TestApi, type TestApiResponse } from '../start-test-api.ts';

const core = '/api/v1/namespaces/default';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const strategic = { 'Content-Type': 'application/strategic-merge-patch+json' };

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

function patched(path: string, body: unknown): Promise<TestApiResponse> {
  return api.call('PATCH', path, { body, headers: strategic });
}

describe('a strategic merge patch', () => {
  test('of an Event, as recorders send it', async () => {
    const involvedObject = { kind: 'Post', name: 'a', namespace: 'default' };
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject,
      count: 1,
      message: 'first',
    };
    expect((await api.call('POST', `${core}/events`, { body: event })).status).toBe(201);
    const change = { count: 2, lastTimestamp: '2026-01-01T00:00:00Z', message: 'again' };
    expect(await patched(`${core}/events/e`, change)).toMatchObject({
      status: 200,
      body: { ...change, involvedObject },
    });
  });

  test('of owners and finalizers, with the hints of kubectl apply', async () => {
    const owner = (uid: string, name = uid): object => ({ apiVersion: 'v1', kind: 'ConfigMap', name, uid });
    const metadata = { name: 'owned', ownerReferences: [owner('1'), owner('2')], finalizers: ['a.com/a', 'a.com/b'] };
    await api.call('POST', `${core}/configmaps`, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata } });
    const answer = await patched(`${core}/configmaps/owned`, {
      metadata: {
        $retainKeys: ['name', 'ownerReferences', 'finalizers', 'uid', 'namespace', 'creationTimestamp'],
        '$setElementOrder/ownerReferences': [{ uid: '2' }, { uid: '1' }],
        ownerReferences: [owner('2', 'renamed')],
        '$deleteFromPrimitiveList/finalizers': ['a.com/a'],
      },
      data: { a: '1' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      metadata: { ownerReferences: [owner('2', 'renamed'), owner('1')], finalizers: ['a.com/b'] },
      data: { a: '1' },
    });
  });

  test('replaces the rules of a role', async () => {
    // Rights that every user has, and so may grant.
    const rules = [{ verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] }];
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'r' }, rules };
    await api.call('POST', `${rbac}/clusterroles`, { body: role });
    const others = [{ verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['selfsubjectrulesreviews'] }];
    expect((await patched(`${rbac}/clusterroles/r`, { rules: others })).body.rules).toEqual(others);
  });

  test('that changes nothing leaves the revision, and one with an old revision is a conflict', async () => {
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'l' }, spec: {} };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const created = await api.call('POST', leases, { body: lease });
    const { resourceVersion } = created.body.metadata;
    expect((await patched(`${leases}/l`, { spec: {} })).body.metadata.resourceVersion).toBe(resourceVersion);
    await patched(`${leases}/l`, { spec: { holderIdentity: 'x' } });
    expect((await patched(`${leases}/l`, { metadata: { resourceVersion }, spec: {} })).status).toBe(409);
  });

  test('of the status of a namespace merges its conditions', async () => {
    const condition = (type: string): object => ({
      type,
      status: 'True',
      reason: 'R',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    await patched('/api/v1/namespaces/default/status', { status: { conditions: [condition('A')] } });
    const answer = await patched('/api/v1/namespaces/default/status', { status: { conditions: [condition('B')] } });
    expect(answer.body.status.conditions.map(({ type }: { type: string }) => type).toSorted()).toEqual(['A', 'B']);
  });

  test('that is malformed is 400', async () => {
    for (const body of [[], { metadata: { ownerReferences: [{ name: 'a' }] } }, { data: { $patch: 'x' } }])
      expect(await patched(`${core}/configmaps/owned`, body)).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest' },
      });
  });

  test('of a custom kind is 415, and the answer names what is accepted', async () => {
    await api.call('POST', posts, { body: newTestPost('custom') });
    expect(await patched(`${posts}/custom`, {})).toMatchObject({
      status: 415,
      body: { message: expect.not.stringContaining('strategic') },
    });
    const plugin = await patched('/apis/plugin.svc.run/v1alpha1/plugins/any', {});
    expect(plugin.status).toBe(415);
    const builtin = await api.call('PATCH', `${core}/configmaps/owned`, {
      body: {},
      headers: { 'Content-Type': 'x/y' },
    });
    expect(builtin).toMatchObject({
      status: 415,
      body: { message: expect.stringContaining('application/strategic-merge-patch+json') },
    });
  });
});
