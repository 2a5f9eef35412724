import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pollUntil } from '../registry/registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registry/registrytest/replica-pair.ts';
import { systemWrite } from '../rest/write-context.ts';
import { testUser } from './start-test-rbac.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';
const question = {
  user: testUser('ada'),
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'events',
  subresource: '',
  namespace: '',
  name: '',
  isResourceRequest: true,
  path: '',
};

let pair: ReplicaPair;

beforeAll(async () => {
  pair = await startReplicas();
});

afterAll(() => pair.close());

test('a role that one replica writes takes effect on the other, and on one that starts later', async () => {
  const { one, two } = pair;
  const bindings = one.registry.find(apiGroup, 'v1', 'clusterrolebindings')!.storage;
  const write = systemWrite(new AbortController().signal);
  expect([one.registry.roles.allows(question), two.registry.roles.allows(question)]).toEqual([false, false]);
  const binding = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'ada' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'User', name: 'ada' }],
  };
  await bindings.create('', binding, write);
  expect(one.registry.roles.allows(question)).toBe(true);
  await pollUntil(() => two.registry.roles.allows(question));
  const three = await pair.start();
  expect(three.registry.roles.allows(question)).toBe(true);
  await bindings.delete({ key: { namespace: '', name: 'ada' }, preconditions: {} }, write);
  await pollUntil(() => !three.registry.roles.allows(question) && !two.registry.roles.allows(question));
});

test('the index knows how old its roles may be', async () => {
  const { roles } = pair.two.registry;
  await pollUntil(() => roles.lagMs < 700);
  const { currentAt } = pair.two.store.changes;
  await pollUntil(() => pair.two.store.changes.currentAt > currentAt);
});
