import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { describeWithHelm } from './render-chart.ts';
import { StubKubernetes } from './stub-kubernetes.ts';
import type { KubernetesDocument } from './validate-document.ts';
import { databaseUrl } from './values-sets.ts';

const database = { 'database.url': databaseUrl };

/** What Helm leaves on an object of a release, and wants to find there. */
const ofRelease = { labels: { 'app.kubernetes.io/managed-by': 'Helm' }, annotations: { 'meta.helm.sh/release-name': 'svc', 'meta.helm.sh/release-namespace': 'prod' } };

function isAuth({ kind, metadata }: KubernetesDocument): boolean {
  return kind === 'Secret' && metadata.name === 'svc-auth';
}

describeWithHelm('with what is there already', () => {
  const kubernetes = new StubKubernetes();
  beforeAll(() => kubernetes.start());
  beforeEach(() => {
    kubernetes.objects = {};
  });
  afterAll(() => kubernetes.stop());

  function thereIs(data: Readonly<Record<string, string>>): void {
    kubernetes.objects = { '/api/v1/namespaces/prod/secrets/svc-auth': { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'svc-auth', namespace: 'prod' }, data } };
  }

  async function credentials(): Promise<KubernetesDocument | undefined> {
    return (await kubernetes.render(database)).find(isAuth);
  }

  test('credentials are others each time where there are none', async () => {
    const [one, other] = [(await credentials())!['data'] as Record<string, string>, (await credentials())!['data'] as Record<string, string>];
    for (const key of ['admin-token', 'admin-password', 'key']) expect(one[key]).not.toBe(other[key]);
    expect(Buffer.from(one['key']!, 'base64').toString()).toMatch(/^[0-9a-f]{64}$/);
  });

  test('credentials are no part of the release, which a rollback would bring back; and no hook removes them', async () => {
    expect((await kubernetes.render(database, ['--no-hooks'])).filter(isAuth)).toEqual([]);
    const { annotations } = (await credentials())!.metadata;
    // Made in an upgrade too, which may be the first without auth.existingSecret; never in a rollback.
    expect(annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-delete-policy': 'hook-failed' });
  });

  test('credentials are left alone at an upgrade and at another installation', async () => {
    thereIs({ 'admin-token': 'dG9rZW4=', 'admin-password': 'cGFzc3dvcmQ=', key: 'a2V5' });
    expect(await credentials()).toBeUndefined();
  });

  test('credentials of which one is missing are refused', async () => {
    thereIs({ 'admin-token': 'dG9rZW4=', key: 'a2V5' });
    await expect(credentials()).rejects.toThrow(/auth: the Secret svc-auth has no admin-password; put it there/);
  });

  test.each([
    { reason: 'as many as there are', live: 5, replicas: 5 },
    { reason: 'the least, where there are fewer', live: 0, replicas: 2 },
    { reason: 'the least, where there are none yet', live: undefined, replicas: 2 },
  ])('autoscaling that is switched on begins with $reason', async ({ live, replicas }) => {
    const path = '/apis/apps/v1/namespaces/prod/deployments/svc-apiserver';
    if (live !== undefined) kubernetes.objects = { [path]: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'svc-apiserver', namespace: 'prod', ...ofRelease }, spec: { replicas: live } } };
    const documents = await kubernetes.render({ ...database, 'apiserver.autoscaling.enabled': 'true' });
    expect(documents.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'svc-apiserver')!['spec']).toMatchObject({ replicas });
  });
});
