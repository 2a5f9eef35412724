import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FailoverDatabase } from '../../../../pkg/testenv/failover-database.ts';
import { pollUntil } from '../../../../pkg/testenv/faults/poll-until.ts';
import { startServedPlatform, type PlatformAnswer, type ServedPlatform } from './start-test-platform.ts';

const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const namespaces = '/api/v1/namespaces';
const waitMs = 30_000;

let database: FailoverDatabase;
let server: ServedPlatform;

beforeEach(async () => {
  database = await FailoverDatabase.create();
  server = await startServedPlatform(database);
});

afterEach(async () => {
  await server?.stop();
  await database?.drop();
});

async function createdRevision(path: string, body: unknown): Promise<number> {
  const { status, text, body: created } = await server.call('POST', path, body);
  if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
  return Number(created.metadata.resourceVersion);
}

const newNamespace = (name: string): object => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

const newBinding = (user: string): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: `binding-of-${user}` },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
});

const noteDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'notes.lost.example.com' },
  spec: {
    group: 'lost.example.com',
    scope: 'Cluster',
    names: { plural: 'notes', singular: 'note', kind: 'Note' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

async function mayDelete(user: string): Promise<boolean> {
  const { body } = await server.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes: { verb: 'delete', group: '', version: 'v1', resource: 'namespaces' } },
  });
  return body.status.allowed;
}

/** The number of rebuilds that are done. */
function rebuilds(): number {
  return server.lines.filter(({ msg }) => msg === 'rebuilt the state after a failover').length;
}

async function watch(revision: number): Promise<PlatformAnswer> {
  return server.call('GET', `${namespaces}?watch=true&timeoutSeconds=1&resourceVersion=${revision}`);
}

test('a server that knew lost changes goes on in the same process, without what rested on them', async () => {
  await createdRevision(bindings, newBinding('removed'));
  const kept = await createdRevision(namespaces, newNamespace('kept'));
  const standby = await database.detachStandby();
  await pollUntil(async () => (await server.call('GET', '/readyz')).status === 200, waitMs, 'the database to be back');
  await createdRevision(bindings, newBinding('lost'));
  await createdRevision(definitions, noteDefinition);
  await pollUntil(async () => (await server.call('GET', '/apis/lost.example.com/v1/notes')).status === 200, waitMs);
  expect((await server.call('DELETE', `${bindings}/binding-of-removed`)).status).toBe(200);
  const lost = await createdRevision(namespaces, newNamespace('lost'));
  expect([await mayDelete('lost'), await mayDelete('removed')]).toEqual([true, false]);

  const answers: PlatformAnswer[] = [];
  const live: PlatformAnswer[] = [];
  const over = new AbortController();
  const asking = (async () => {
    while (!over.signal.aborted) {
      live.push(await server.call('GET', '/livez'));
      answers.push(await server.call('GET', `${namespaces}/kept`));
    }
  })();
  await database.failOver(standby);
  await pollUntil(() => rebuilds() === 1, waitMs, 'the rebuild');
  over.abort();
  await asking;

  expect(new Set(live.map(({ status }) => status))).toEqual(new Set([200]));
  for (const { status, headers } of answers)
    expect([status, headers.has('retry-after')]).toEqual(status === 200 ? [200, false] : [503, true]);
  expect([await mayDelete('lost'), await mayDelete('removed')]).toEqual([false, true]);
  expect((await server.call('GET', '/apis/lost.example.com/v1/notes')).status).toBe(404);
  expect((await server.call('GET', `${namespaces}/lost`)).status).toBe(404);
  const later = await createdRevision(namespaces, newNamespace('later'));
  expect(later).toBeGreaterThan(lost);
  expect((await watch(lost)).text).toContain('"code":410');
  const { text } = await watch(kept);
  expect(text).toContain('"name":"later"');
  expect(text).not.toContain('"name":"lost"');
  expect((await fetch(`${server.accessUrl}/readyz`)).status).toBe(200);
  expect((await server.call('GET', '/metrics')).text).toMatch(/^svc_change_feed_revision [1-9]/m);
});
