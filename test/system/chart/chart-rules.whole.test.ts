import { beforeAll, expect, test } from '@jest/globals';
import { describeWithHelm, renderChart } from './render-chart.ts';
import { optionsExist } from './rules/options-exist.ts';
import { podSecurity } from './rules/pod-security.ts';
import { portsExist } from './rules/ports-exist.ts';
import { namesFit, referencesExist } from './rules/references-exist.ts';
import { ofKind, podsOf, type Container, type Labels, type PodSpec, type Release } from './rules/release.ts';
import { secretsStaySecret } from './rules/secrets-stay-secret.ts';
import { selectorsMatch } from './rules/selectors-match.ts';
import type { KubernetesDocument } from './validate-document.ts';
import { databaseUrl, planted } from './values-sets.ts';

const rules = (release: Release): string[] => [
  ...podSecurity(release),
  ...secretsStaySecret(release, [planted]),
  ...optionsExist(release),
  ...selectorsMatch(release),
  ...referencesExist(release),
  ...portsExist(release),
  ...namesFit(release),
];

/** One fault in an otherwise valid release, and the expected message of the rules. */
const faults: { reason: string; breakIt: (release: Release) => void; says: RegExp }[] = [
  {
    reason: 'a writable root file system',
    breakIt: (release) =>
      void (container(release).securityContext = {
        ...container(release).securityContext,
        readOnlyRootFilesystem: false,
      }),
    says: /its root can be written to/,
  },
  {
    reason: 'a capability',
    breakIt: (release) =>
      void (container(release).securityContext = {
        ...container(release).securityContext,
        capabilities: { drop: ['ALL'], add: ['NET_ADMIN'] },
      }),
    says: /it has capabilities/,
  },
  {
    reason: 'another user',
    breakIt: (release) => void (pod(release).securityContext = { runAsUser: 0 }),
    says: /does not run as 10001/,
  },
  {
    reason: 'no resource request',
    breakIt: (release) => void delete container(release).resources,
    says: /does not say what it needs/,
  },
  {
    reason: 'a token of Kubernetes',
    breakIt: (release) => void delete pod(release).automountServiceAccountToken,
    says: /has a token of Kubernetes/,
  },
  {
    reason: 'a secret as a value',
    breakIt: (release) => void container(release).env!.push({ name: 'A', value: databaseUrl }),
    says: /Deployment svc-apiserver shows a secret/,
  },
  {
    reason: 'a secret in the environment of the program',
    breakIt: (release) =>
      void container(release).env!.push({
        name: 'SVC_SECURITY_KEY',
        valueFrom: { secretKeyRef: { name: 'svc-auth', key: 'key' } },
      }),
    says: /Deployment svc-apiserver has a secret in its environment: SVC_SECURITY_KEY/,
  },
  {
    reason: 'a secret in a ConfigMap',
    breakIt: (release) =>
      Object.assign(data(release, 'ConfigMap'), {
        a: Buffer.from(data(release, 'Secret')['url']!, 'base64').toString(),
      }),
    says: /ConfigMap svc-\S+ shows a secret/,
  },
  {
    reason: 'an unknown option',
    breakIt: (release) => void container(release).env!.push({ name: 'SVC_SERVER_PROT', value: '1' }),
    says: /no option for the environment variable SVC_SERVER_PROT/,
  },
  {
    reason: 'a malformed option',
    breakIt: (release) => Object.assign(data(release, 'ConfigMap'), { 'a.yaml': 'svc.http.max-in-flight: 1e+06' }),
    says: /svc\.http\.max-in-flight .*is malformed/,
  },
  {
    reason: 'an unknown command',
    breakIt: (release) => void (container(release).args![0] = 'api-server'),
    says: /there is no command api-server/,
  },
  {
    reason: 'a grace period that is too short',
    breakIt: (release) => void (pod(release).terminationGracePeriodSeconds = 45),
    says: /kills it before its drain is over/,
  },
  {
    reason: 'a label that nothing selects',
    breakIt: (release) =>
      void delete (
        podsOf(release).find(({ owner }) => owner === 'Deployment svc-apiserver')!.labels as Record<string, string>
      )['app.kubernetes.io/component'],
    says: /Service svc-apiserver selects 0 instead of one/,
  },
  {
    reason: 'a selector that selects too much',
    breakIt: (release) =>
      void delete (ofKind(release, 'Service')[0]!['spec'] as { selector: Record<string, string> }).selector[
        'app.kubernetes.io/component'
      ],
    says: /Service svc-apiserver selects \d+ instead of one/,
  },
  {
    reason: 'a monitor of another cluster',
    breakIt: (release) =>
      void (release.documents as KubernetesDocument[]).push({
        apiVersion: 'monitoring.coreos.com/v1',
        kind: 'PodMonitor',
        metadata: { name: 'svc-db', namespace: 'prod' },
        spec: { selector: { matchLabels: { 'cnpg.io/cluster': 'other' } } },
      }),
    says: /PodMonitor svc-db selects 0 instead of one/,
  },
  {
    reason: 'a Secret that nothing creates',
    breakIt: (release) =>
      void (pod(release).volumes!.find(({ name }) => name === 'database-url')!.secret!.secretName = 'other'),
    says: /there is no Secret other/,
  },
  {
    reason: 'a key that the Secret lacks',
    breakIt: (release) =>
      void (pod(release).volumes!.find(({ name }) => name === 'database-url')!.secret!.items![0]!.key = 'other'),
    says: /Secret svc-database has no other/,
  },
  {
    reason: 'a missing volume',
    breakIt: (release) => void pod(release).volumes!.shift(),
    says: /there is no volume data/,
  },
  {
    reason: 'a volume that is not mounted',
    breakIt: (release) => void pod(release).volumes!.push({ name: 'more', emptyDir: {} }),
    says: /nobody mounts more/,
  },
  {
    reason: 'a file that is not mounted',
    breakIt: (release) =>
      void container(release).env!.push({ name: 'SVC_SECURITY_KEY_FILE', value: '/etc/svc/credentials/other' }),
    says: /there is no file \/etc\/svc\/credentials\/other/,
  },
  {
    reason: 'a hook that needs a later object',
    breakIt: (release) =>
      void (job(release).volumes!.find(({ configMap }) => configMap !== undefined)!.configMap!.name = 'svc-config'),
    says: /Job svc-migration-check: there is no ConfigMap svc-config/,
  },
  {
    reason: 'credentials that the next hook deletes',
    breakIt: (release) =>
      void delete ofKind(release, 'Secret').find(({ metadata }) => metadata.name === 'svc-auth')!.metadata.annotations![
        'helm.sh/hook-delete-policy'
      ],
    says: /Deployment svc-apiserver: there is no Secret svc-auth/,
  },
  {
    reason: 'a URL that plugins cannot be found by',
    breakIt: (release) =>
      void (podsOf(release)
        .find(({ owner }) => owner === 'Deployment svc-controller-manager')!
        .spec.containers[0]!.env!.find(({ name }) => name === 'SVC_PLUGINS_HOST_URL')!.value =
        'http://[$(POD_IP):8092'),
    says: /svc\.plugins\.host-url is/,
  },
  {
    reason: 'replicas together with autoscaling',
    breakIt: (release) =>
      void (release.documents as KubernetesDocument[]).push({
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'svc-apiserver', namespace: 'prod' },
        spec: { scaleTargetRef: { name: 'svc-apiserver' }, minReplicas: 3 },
      }),
    says: /HorizontalPodAutoscaler svc-apiserver: the Deployment says 2 replicas, which autoscaling decides/,
  },
  {
    reason: 'a probe of an unknown port',
    breakIt: (release) => void (container(release).readinessProbe!.httpGet.port = 'https'),
    says: /there is no port https/,
  },
  {
    reason: 'a Service of an unknown port',
    breakIt: (release) =>
      void ((ofKind(release, 'Service')[0]!['spec'] as { ports: { targetPort: string }[] }).ports[0]!.targetPort =
        'other'),
    says: /no pod has the port other/,
  },
  {
    reason: 'a call to an unknown Service',
    breakIt: (release) =>
      void (podsOf(release)
        .find(({ owner }) => owner === 'Deployment svc-controller-manager')!
        .spec.containers[0]!.env!.find(({ name }) => name === 'SVC_CONTROLLERS_API_URL')!.value =
        'http://svc-apiserver.prod.svc:8090'),
    says: /svc-apiserver\.prod\.svc:8090 leads nowhere/,
  },
  {
    reason: 'a name that is too long',
    breakIt: (release) => void (ofKind(release, 'Service')[0]!.metadata.name = 'a'.repeat(64)),
    says: /is no name/,
  },
];

function pod(release: Release): PodSpec {
  return podsOf(release).find(({ owner }) => owner === 'Deployment svc-apiserver')!.spec;
}

function job(release: Release): PodSpec {
  return podsOf(release).find(({ owner }) => owner === 'Job svc-migration-check')!.spec;
}

function container(release: Release): Container {
  return pod(release).containers[0]!;
}

function data(release: Release, kind: string): Labels {
  return ofKind(release, kind).find(({ metadata }) => ['svc-config', 'svc-database'].includes(metadata.name))![
    'data'
  ] as Labels;
}

describeWithHelm('the rules notice', () => {
  let right: Release;
  beforeAll(async () => {
    right = { documents: await renderChart({ database: { url: databaseUrl } }), existing: new Set() };
  });

  test('a correct chart has no violations', () => expect(rules(right)).toEqual([]));

  test.each(faults)('$reason', ({ breakIt, says }) => {
    const wrong = structuredClone(right);
    breakIt(wrong);
    expect(rules(wrong).join('\n')).toMatch(says);
  });
});
