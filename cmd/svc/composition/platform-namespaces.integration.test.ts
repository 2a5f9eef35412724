import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Client, ResourceType } from '#pkg/apimachinery/index';
import { resourceQuotaType, roleBindingType, type RoleBinding } from '#pkg/apis/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { PlatformNamespaces } from './platform-namespaces.ts';

const id = '0a0b0c0d-0000-4000-8000-00000000000a';
const namespace = `org-${id}`;
const namespaceType: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  hasStatusSubresource: true,
};

let env: TestEnv;
let client: Client;
let namespaces: PlatformNamespaces;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  namespaces = new PlatformNamespaces(client);
});
afterAll(() => env.stop());
beforeEach(() => namespaces.ensure({ id, name: 'Press' }));

const bindings = async (): Promise<string[]> => {
  const { items } = await client.list(roleBindingType, { namespace });
  return items
    .map(
      ({ metadata, roleRef, subjects = [] }) =>
        `${metadata.name}: ${roleRef.name} of ${subjects.map(({ kind, name }) => `${kind} ${name}`).join()}`,
    )
    .toSorted();
};
const right = [
  `svc:org-admins: admin of Group org:${id}:OrgAdmin`,
  `svc:org-auditors: view of Group org:${id}:OrgAuditor`,
  `svc:org-users: edit of Group org:${id}:OrgUser`,
];
const users = { namespace, name: 'svc:org-users' };

test('the namespace has the name of its organization, also a new one, and keeps its other annotations', async () => {
  await client.patch(
    namespaceType,
    { namespace: '', name: namespace },
    { type: 'merge', patch: { metadata: { annotations: { mine: 'stays' } } } },
  );
  await namespaces.ensure({ id, name: 'Print' });
  expect((await client.get(namespaceType, { namespace: '', name: namespace })).metadata.annotations).toMatchObject({
    'svc.run/organization': 'Print',
    mine: 'stays',
  });
});

test.each<[string, () => Promise<unknown>]>([
  ['deleted', () => client.delete(roleBindingType, users)],
  ['emptied', () => client.patch(roleBindingType, users, { type: 'merge', patch: { subjects: null } })],
  [
    'given to another',
    () =>
      client.patch(roleBindingType, users, {
        type: 'merge',
        patch: { subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'eve' }] },
      }),
  ],
  [
    'changed to another role',
    async () => {
      const { roleRef, ...binding } = await client.get(roleBindingType, users);
      await client.delete(roleBindingType, users);
      const other: RoleBinding = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { ...users },
        roleRef: { ...roleRef, name: 'admin' },
        subjects: binding.subjects!,
      };
      await client.create(roleBindingType, other);
    },
  ],
])('a binding that was %s is restored, and others stay', async (_what, change) => {
  await change();
  expect(await bindings()).not.toEqual(right);
  await namespaces.ensure({ id, name: 'Press' });
  expect(await bindings()).toEqual(right);
});

test('what is up to date is not written', async () => {
  const before = await client.list(roleBindingType, { namespace });
  await namespaces.ensure({ id, name: 'Press' });
  expect(
    (await client.list(roleBindingType, { namespace })).items.map(({ metadata }) => metadata.resourceVersion),
  ).toEqual(before.items.map(({ metadata }) => metadata.resourceVersion));
});

test('a new namespace gets the quota of organizations, once; it does not keep the organization from going', async () => {
  const other = { id: '0a0b0c0d-0000-4000-8000-00000000000b', name: 'Radio' };
  const key = { namespace: `org-${other.id}`, name: 'organization' };
  const limited = new PlatformNamespaces(client, [['bytes', '1Gi']]);
  await limited.ensure({ id, name: 'Press' });
  await limited.ensure(other);
  expect(await client.get(resourceQuotaType, key)).toMatchObject({ spec: { hard: { bytes: '1Gi' } } });
  expect((await client.list(resourceQuotaType, { namespace })).items).toEqual([]);
  await client.delete(resourceQuotaType, key);
  await limited.ensure(other);
  expect((await client.list(resourceQuotaType, { namespace: key.namespace })).items).toEqual([]);
  // The process ended before it had made the quota.
  await client.patch(
    namespaceType,
    { namespace: '', name: key.namespace },
    { type: 'merge', patch: { metadata: { annotations: { 'svc.run/awaits-quota': 'true' } } } },
  );
  await limited.ensure(other);
  expect((await client.list(resourceQuotaType, { namespace: key.namespace })).items).toHaveLength(1);
  expect(await limited.remove(other)).toBe('removed');
});
