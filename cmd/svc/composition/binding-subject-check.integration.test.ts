import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { BindingSubjectCheck } from '#pkg/access/index';
import { clusterRoleBindingType, rbacGroup, roleBindingType, type RoleRef, type Subject } from '#pkg/apis/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { bindingCheckByClient, bindingCheckByIndex } from './binding-subject-check.ts';

const apiVersion = `${rbacGroup}/v1`;
const roleRef: RoleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'view' };
const subject = (kind: Subject['kind'], name: string): Subject => ({ kind, apiGroup: rbacGroup, name });

let env: TestEnv;
let checks: BindingSubjectCheck[];
beforeAll(async () => {
  env = await startTestEnv();
  const { client, registry } = env.servers[0]!;
  checks = [bindingCheckByIndex(registry.roles), bindingCheckByClient(client)];
  await client.create(clusterRoleBindingType, {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'everywhere' },
    roleRef,
    subjects: [subject('User', 'Mia'), subject('Group', 'readers')],
  });
  await client.create(roleBindingType, {
    apiVersion,
    kind: 'RoleBinding',
    metadata: { namespace: 'default', name: 'here' },
    roleRef,
    subjects: [subject('User', 'last')],
  });
  while (!registry.roles.isNamedByBinding('last')) await new Promise(setImmediate);
});
afterAll(() => env.stop());

test.each([
  ['mia', true],
  ['ＭＩＡ', true],
  ['Last', true],
  ['readers', false],
  ['nobody', false],
])('%s: %s', async (name, isBound) => {
  expect(await Promise.all(checks.map(async (check) => check(name)))).toEqual([isBound, isBound]);
});

test('if the bindings cannot be read the check fails', async () => {
  await expect(bindingCheckByIndex({ lagMs: 6000, isNamedByBinding: () => false })('mia')).rejects.toThrow('bindings');
  await expect(bindingCheckByClient({ list: () => Promise.reject(new Error('away')) })('mia')).rejects.toThrow('away');
});
