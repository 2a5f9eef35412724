import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { isPersonalToken } from '#pkg/identity/index';
import { describeWithHelm } from './render-chart.ts';
import { podsOf } from './rules/release.ts';
import { StubKubernetes } from './stub-kubernetes.ts';
import type { KubernetesDocument } from './validate-document.ts';
import { databaseUrl } from './values-sets.ts';

const database = { 'database.url': databaseUrl };

/** Labels and annotations that Helm sets on an object of a release, and requires. */
const ofRelease = {
  labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  annotations: { 'meta.helm.sh/release-name': 'svc', 'meta.helm.sh/release-namespace': 'prod' },
};

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
    kubernetes.objects = {
      '/api/v1/namespaces/prod/secrets/svc-auth': {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'svc-auth', namespace: 'prod' },
        data,
      },
    };
  }

  async function credentials(): Promise<KubernetesDocument | undefined> {
    return (await kubernetes.render(database)).find(isAuth);
  }

  test('credentials are generated each time if there are none', async () => {
    const [one, other] = [
      (await credentials())!['data'] as Record<string, string>,
      (await credentials())!['data'] as Record<string, string>,
    ];
    for (const key of ['admin-token', 'admin-password', 'key']) expect(one[key]).not.toBe(other[key]);
    expect(Buffer.from(one['key']!, 'base64').toString()).toMatch(/^[0-9a-f]{64}$/);
  });

  test('credentials are not part of the release, which a rollback would restore; and no hook removes them', async () => {
    expect((await kubernetes.render(database, ['--no-hooks'])).filter(isAuth)).toEqual([]);
    const { annotations } = (await credentials())!.metadata;
    // Also created in an upgrade, which may be the first without auth.existingSecret; never in a rollback.
    expect(annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-delete-policy': 'hook-failed',
    });
  });

  test('credentials are kept at an upgrade and at another installation', async () => {
    thereIs({ 'admin-token': 'dG9rZW4=', 'admin-password': 'cGFzc3dvcmQ=', key: 'a2V5' });
    expect(await credentials()).toBeUndefined();
  });

  test('tokens of access servers and controllers are generated once, valid, and not part of the release', async () => {
    const isTokens = ({ kind, metadata }: KubernetesDocument): boolean =>
      kind === 'Secret' && metadata.name === 'svc-service-tokens';
    const made = (await kubernetes.render(database)).find(isTokens)!;
    expect(made.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    const tokens = Object.entries(made['data'] as Record<string, string>).map(([key, value]) => [
      key,
      isPersonalToken(Buffer.from(value, 'base64').toString()),
    ]);
    expect(Object.fromEntries(tokens)).toEqual({ 'access-server-token': true, 'controller-manager-token': true });
    expect((await kubernetes.render(database, ['--no-hooks'])).filter(isTokens)).toEqual([]);
    const there = (data: object): void => {
      const metadata = { name: 'svc-service-tokens', namespace: 'prod' };
      const path = '/api/v1/namespaces/prod/secrets/svc-service-tokens';
      kubernetes.objects = { [path]: { apiVersion: 'v1', kind: 'Secret', metadata, data } };
    };
    there(made['data'] as object);
    expect((await kubernetes.render(database)).filter(isTokens)).toEqual([]);
    there({ 'access-server-token': 'dG9rZW4=' });
    await expect(kubernetes.render(database)).rejects.toThrow(
      /serviceTokens: the Secret svc-service-tokens has no controller-manager-token; put it there/,
    );
  });

  test('incomplete credentials are refused', async () => {
    thereIs({ 'admin-token': 'dG9rZW4=', key: 'a2V5' });
    await expect(credentials()).rejects.toThrow(/auth: the Secret svc-auth has no admin-password; put it there/);
  });

  test.each([
    { reason: 'starts with the current number of replicas', live: 5, replicas: 5 },
    { reason: 'starts with the minimum if there are fewer', live: 0, replicas: 2 },
    // Rendering without a cluster finds none either, and would reset the number that autoscaling has set.
    { reason: 'sets no number if there are no replicas', live: undefined, replicas: undefined },
  ])('autoscaling, when switched on, $reason', async ({ live, replicas }) => {
    const path = '/apis/apps/v1/namespaces/prod/deployments/svc-apiserver';
    if (live !== undefined)
      kubernetes.objects = {
        [path]: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: 'svc-apiserver', namespace: 'prod', ...ofRelease },
          spec: { replicas: live },
        },
      };
    const documents = await kubernetes.render({ ...database, 'apiserver.autoscaling.enabled': 'true' });
    const deployment = documents.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'svc-apiserver',
    )!;
    expect((deployment['spec'] as { replicas?: number }).replicas).toBe(replicas);
  });

  test.each([
    { reason: 'the account of the release', settings: {}, live: 'svc', account: 'svc' },
    {
      reason: 'none that only the upgrade creates',
      settings: { 'serviceAccount.name': 'new' },
      live: 'svc',
      account: undefined,
    },
    {
      reason: 'an existing one',
      settings: { 'serviceAccount.create': 'false', 'serviceAccount.name': 'own' },
      live: undefined,
      account: 'own',
    },
    {
      reason: 'none of the chart if it creates none',
      settings: { 'serviceAccount.create': 'false' },
      live: 'svc',
      account: 'default',
    },
  ])('the check before an upgrade runs as $reason', async ({ settings, live, account }) => {
    if (live !== undefined)
      kubernetes.objects = {
        [`/api/v1/namespaces/prod/serviceaccounts/${live}`]: {
          apiVersion: 'v1',
          kind: 'ServiceAccount',
          metadata: { name: live, namespace: 'prod', ...ofRelease },
        },
      };
    const documents = await kubernetes.render({ ...database, ...settings });
    expect(
      podsOf({ documents, existing: new Set() }).find(({ owner }) => owner === 'Job svc-migration-check')!.spec
        .serviceAccountName,
    ).toBe(account);
  });
});
