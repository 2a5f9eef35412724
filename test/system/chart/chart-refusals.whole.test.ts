import { expect, test } from '@jest/globals';
import { describeWithHelm, lintChart, renderChart, type Values } from './render-chart.ts';
import { databaseUrl, planted } from './values-sets.ts';

const database = { url: databaseUrl };
const plugin = { name: 'blog', image: 'blog:1' };

const refused: { reason: string; values: Values; says: RegExp; kubeVersion?: string }[] = [
  {
    reason: 'no database',
    values: {},
    says: /database: set exactly one of url, existingSecret\.name and cnpg\.enabled; there is none/,
  },
  {
    reason: 'two databases',
    values: { database: { ...database, cnpg: { enabled: true } } },
    says: /there is url and cnpg\.enabled/,
  },
  {
    reason: 'a URL of another database',
    values: { database: { url: `mysql://svc:${planted}@h/d` } },
    says: /database\.url: it is not of the form postgres:/,
  },
  {
    reason: 'more waits than standbys',
    values: { database: { cnpg: { enabled: true, instances: 1 } } },
    says: /synchronous\.number 1 needs more instances than 1/,
  },
  {
    reason: 'more waits than standbys, by the spec',
    values: { database: { cnpg: { enabled: true, extraSpec: { instances: 1 } } } },
    says: /synchronous\.number 1 needs more instances than 1/,
  },
  {
    reason: 'an age of backups that is no number of hours',
    values: { database: { cnpg: { enabled: true, maxBackupAgeHours: '26h' } } },
    says: /\/database\/cnpg\/maxBackupAgeHours.*got string, want integer/,
  },
  {
    reason: 'backups of the database without a destination',
    values: { database: { cnpg: { enabled: true, backupSchedule: '0 0 3 * * *' } } },
    says: /database\.cnpg\.backup where backups go/,
  },
  {
    reason: 'a misspelled value',
    values: { database, replicaz: 2 },
    says: /additional properties 'replicaz' not allowed/,
  },
  {
    reason: 'a misspelled nested value',
    values: { database, apiserver: { replica: 2 } },
    says: /'\/apiserver': additional properties 'replica' not allowed/,
  },
  {
    reason: 'a text for a number',
    values: { database, apiserver: { replicas: 'two' } },
    says: /\/apiserver\/replicas.*got string, want integer/,
  },
  { reason: 'no replica', values: { database, apiserver: { replicas: 0 } }, says: /\/apiserver\/replicas/ },
  {
    reason: 'an unknown policy of pulling',
    values: { database, image: { pullPolicy: 'Sometimes' } },
    says: /\/image\/pullPolicy/,
  },
  { reason: 'an invalid digest', values: { database, image: { digest: 'sha256:abc' } }, says: /\/image\/digest/ },
  {
    reason: 'a loopback listening address',
    values: { database, listenAddress: '127.0.0.1' },
    says: /\/listenAddress/,
  },
  {
    reason: 'an option of another program',
    values: { database, config: { 'logging.level': 'info' } },
    says: /invalid propertyName 'logging\.level'/,
  },
  { reason: 'nested options', values: { database, config: { svc: { server: { port: 1 } } } }, says: /\/config/ },
  {
    reason: 'an option that the chart sets',
    values: { database, config: { 'svc.server.host': '127.0.0.1' } },
    says: /config: svc\.server\.host is set by the chart/,
  },
  {
    reason: 'a secret as an option',
    values: { database, config: { 'svc.security.key': planted } },
    says: /config: svc\.security\.key is set by the chart/,
  },
  {
    reason: 'a file of a secret as an option',
    values: { database, config: { 'svc.database.url-file': '/run/url' } },
    says: /config: svc\.database\.url-file is set by the chart/,
  },
  {
    reason: 'an option as a variable',
    values: { database, apiserver: { extraEnv: [{ name: 'SVC_SERVER_PORT', value: '1' }] } },
    says: /\/apiserver\/extraEnv\/0\/name/,
  },
  {
    reason: 'a variable that the chart sets',
    values: { database, controllerManager: { extraEnv: [{ name: 'POD_IP', value: '::1' }] } },
    says: /\/controllerManager\/extraEnv\/0\/name/,
  },
  {
    reason: 'labels that the chart sets',
    values: { database, apiserver: { podLabels: { 'app.kubernetes.io/name': 'mine' } } },
    says: /invalid propertyName 'app\.kubernetes\.io\/name'/,
  },
  {
    reason: 'two certificates',
    values: { database, tls: { existingSecret: 'own', certManager: { enabled: true, issuerRef: { name: 'ca' } } } },
    says: /tls: set one of existingSecret and certManager\.enabled/,
  },
  {
    reason: 'a certificate without an issuer',
    values: { database, tls: { certManager: { enabled: true } } },
    says: /tls\.certManager\.issuerRef\.name/,
  },
  {
    reason: 'a drain timeout that is too short for the delay',
    values: { database, drain: { delaySeconds: 20, timeoutSeconds: 20 } },
    says: /drain: delaySeconds 20 needs a timeoutSeconds of 45 or more, and it is 20/,
  },
  {
    reason: 'a delay that the program would cut',
    values: { database, drain: { delaySeconds: 25, timeoutSeconds: 54 } },
    says: /drain: delaySeconds 25 needs a timeoutSeconds of 55 or more, and it is 54/,
  },
  {
    reason: 'a short drain without time for requests',
    values: { database, drain: { delaySeconds: 1, timeoutSeconds: 10 } },
    says: /delaySeconds 1 needs a timeoutSeconds of 11/,
  },
  {
    reason: 'more pods than the database has connections',
    values: { database: { cnpg: { enabled: true } }, apiserver: { replicas: 9 } },
    says: /max_connections: 500 is too few; that many pods want 566/,
  },
  {
    reason: 'more pods at most than the database has connections',
    values: {
      database: { cnpg: { enabled: true, parameters: { max_connections: '462' } } },
      apiserver: { autoscaling: { enabled: true } },
      accessServer: { autoscaling: { enabled: true } },
    },
    says: /462 is too few; that many pods want 463/,
  },
  {
    reason: 'a pool that is too large for the database',
    values: { database: { cnpg: { enabled: true } }, config: { 'svc.database.pool-size': 60 } },
    says: /500 is too few; that many pods want 523/,
  },
  {
    reason: 'fewer connections by the spec',
    values: {
      database: { cnpg: { enabled: true, extraSpec: { postgresql: { parameters: { max_connections: '200' } } } } },
    },
    says: /200 is too few; that many pods want 223/,
  },
  {
    reason: 'root',
    values: { database, podSecurityContext: { runAsUser: 0 } },
    says: /\/podSecurityContext\/runAsUser/,
  },
  {
    reason: 'more pods at least than at most',
    values: { database, apiserver: { autoscaling: { enabled: true, minReplicas: 9 } } },
    says: /apiserver\.autoscaling: minReplicas 9 is more than maxReplicas 6/,
  },
  { reason: 'a plugin without a source', values: { database, plugins: [{ name: 'blog' }] }, says: /\/plugins\/0/ },
  {
    reason: 'a plugin from two places',
    values: { database, plugins: [{ ...plugin, configMap: 'blog' }] },
    says: /\/plugins\/0/,
  },
  {
    reason: 'a plugin outside of its folder',
    values: { database, plugins: [{ ...plugin, path: 'a/../../etc' }] },
    says: /\/plugins\/0\/path/,
  },
  {
    reason: 'a plugin without a name for its folder',
    values: { database, plugins: [{ ...plugin, name: '../blog' }] },
    says: /\/plugins\/0\/name/,
  },
  {
    reason: 'two plugins of one name',
    values: { database, plugins: [plugin, plugin] },
    says: /plugins: there are two of the name blog/,
  },
  {
    reason: 'an image volume on an older Kubernetes',
    values: { database, plugins: [{ ...plugin, imageVolume: true }] },
    kubeVersion: '1.32.0',
    says: /imageVolume of blog needs Kubernetes 1\.35/,
  },
  {
    reason: 'an image volume with a command, which would not run',
    values: { database, plugins: [{ ...plugin, imageVolume: true, command: ['cp'] }] },
    kubeVersion: '1.35.0',
    says: /\/plugins\/0/,
  },
  {
    reason: 'plugins without a process to run them',
    values: { database, plugins: [plugin], controllerManager: { enabled: false } },
    says: /set controllerManager\.enabled/,
  },
  { reason: 'an Ingress without a host', values: { database, ingress: { enabled: true } }, says: /ingress\.host/ },
  {
    reason: 'one host for both',
    values: { database, ingress: { enabled: true, host: 'a.example', accessHost: 'a.example' } },
    says: /ingress\.accessHost: it needs a host of its own/,
  },
  {
    reason: 'a host without a service',
    values: {
      database,
      accessServer: { enabled: false },
      ingress: { enabled: true, host: 'a.example', accessHost: 'b.example' },
    },
    says: /set accessServer\.enabled/,
  },
  {
    reason: 'a route without a Gateway',
    values: { database, gateway: { enabled: true, hostnames: ['a.example'] } },
    says: /gateway: parentRefs and hostnames/,
  },
  {
    reason: 'a Gateway with one host for both',
    values: {
      database,
      gateway: {
        enabled: true,
        parentRefs: [{ name: 'public' }],
        hostnames: ['a.example', 'b.example'],
        accessHostnames: ['b.example'],
      },
    },
    says: /gateway\.accessHostnames: b\.example is in hostnames as well/,
  },
  {
    reason: 'a route of an empty host',
    values: { database, gateway: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: [''] } },
    says: /\/gateway\/hostnames\/0/,
  },
  {
    reason: 'Services that begin with a digit',
    values: { database, fullnameOverride: '1svc' },
    says: /fullnameOverride: 1svc begins with a digit/,
  },
  {
    reason: 'monitoring that the network policy blocks',
    values: { database, networkPolicy: { enabled: true }, metrics: { serviceMonitor: { enabled: true } } },
    says: /networkPolicy\.monitoringFrom/,
  },
  {
    reason: 'an annotation that makes every object a hook',
    values: { database, commonAnnotations: { 'helm.sh/hook': 'test' } },
    says: /invalid propertyName 'helm\.sh\/hook'/,
  },
  {
    reason: 'a container without an image',
    values: { database, apiserver: { extraContainers: [{ name: 'shipper' }] } },
    says: /\/apiserver\/extraContainers\/0.*missing property 'image'/,
  },
  {
    reason: 'a container of the name of the program',
    values: { database, extraContainers: [{ name: 'access-server', image: 'a' }] },
    says: /extraContainers: the pods of access-server have two containers of the name access-server/,
  },
  {
    reason: 'a container of the name of another',
    values: {
      database,
      initContainers: [{ name: 'a', image: 'a' }],
      apiserver: { extraContainers: [{ name: 'a', image: 'a' }] },
    },
    says: /extraContainers: the pods of apiserver have two containers of the name a/,
  },
  {
    reason: 'a container of the name of that of a plugin',
    values: { database, plugins: [plugin], initContainers: [{ name: 'plugin-blog', image: 'a' }] },
    says: /initContainers: the pods of controller-manager have two containers of the name plugin-blog/,
  },
  {
    reason: 'no name servers',
    values: { database, accessServer: { dnsPolicy: 'None' } },
    says: /dnsPolicy: None needs dnsConfig\.nameservers, and the pods of access-server have none/,
  },
  { reason: 'an unknown policy of names', values: { database, dnsPolicy: 'Cluster' }, says: /\/dnsPolicy/ },
  {
    reason: 'a number as a value of an option of names',
    values: { database, controllerManager: { dnsConfig: { options: [{ name: 'ndots', value: 2 }] } } },
    says: /\/controllerManager\/dnsConfig\/options\/0\/value.*got number, want string/,
  },
  {
    reason: 'a size that is none',
    values: { database, emptyDirSizeLimits: { data: '1 GB' } },
    says: /\/emptyDirSizeLimits\/data/,
  },
  {
    reason: 'an object without a kind',
    values: { database, extraObjects: [{ apiVersion: 'v1', metadata: { name: 'a' } }] },
    says: /\/extraObjects\/0.*missing property 'kind'/,
  },
  {
    reason: 'an object without a name',
    values: { database, extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }] },
    says: /extraObjects: entry 0 is no object with apiVersion, kind and metadata\.name/,
  },
  {
    reason: 'text that is no object',
    values: { database, extraObjects: ['{{ .Release.Name }}: ['] },
    says: /extraObjects: entry 0 is no object with apiVersion, kind and metadata\.name: error converting YAML/,
  },
  {
    reason: 'backups without a destination',
    values: { database, backup: { enabled: true } },
    says: /backup\.existingClaim/,
  },
  {
    reason: 'an old Kubernetes',
    values: { database },
    kubeVersion: '1.28.0',
    says: /kubeVersion: >=1\.29\.0-0 which is incompatible with Kubernetes v?1\.28\.0/,
  },
];

describeWithHelm('the chart refuses', () => {
  test.each(refused)('$reason', async ({ values, says, kubeVersion }) => {
    const refusal = renderChart(values, kubeVersion === undefined ? {} : { kubeVersion });
    await expect(refusal).rejects.toThrow(says);
    await expect(refusal).rejects.not.toThrow(planted);
  });

  test('helm lint refuses it, too', async () => {
    await expect(lintChart({ database, replicaz: 2 })).rejects.toThrow(/replicaz/);
  });
});
