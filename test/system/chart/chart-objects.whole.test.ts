import { describe, expect, test } from '@jest/globals';
import { accessPrefixes, accessPrefixOf } from '#pkg/access/index';
import { describeWithHelm, renderChart, type Values } from './render-chart.ts';
import { podsOf, type PodSpec } from './rules/release.ts';
import type { KubernetesDocument } from './validate-document.ts';
import { databaseUrl } from './values-sets.ts';

const database = { url: databaseUrl };

async function specOf(title: string, values: Values): Promise<unknown> {
  return (await renderChart(values)).find(({ kind, metadata }) => `${kind} ${metadata.name}` === title)!['spec'];
}

async function podSpecs(values: Values): Promise<Map<string, PodSpec>> {
  const documents: KubernetesDocument[] = await renderChart({
    backup: { enabled: true, existingClaim: 'backups' },
    ...values,
  });
  return new Map(podsOf({ documents, existing: new Set() }).map(({ owner, spec }) => [owner, spec]));
}

describeWithHelm('the chart', () => {
  test('keeps its own spec of a Cluster with any additions', async () => {
    const extraSpec = {
      postgresql: { pg_hba: ['hostssl all all all cert'], parameters: { shared_buffers: '1GB' } },
      storage: { resizeInUseVolumes: false },
      affinity: { nodeSelector: { disk: 'ssd' } },
    };
    expect(await specOf('Cluster svc-db', { database: { cnpg: { enabled: true, extraSpec } } })).toEqual({
      instances: 3,
      bootstrap: { initdb: { database: 'svc', owner: 'svc' } },
      storage: { size: '20Gi', resizeInUseVolumes: false },
      postgresql: {
        synchronous: { method: 'any', number: 1 },
        pg_hba: ['hostssl all all all cert'],
        parameters: { max_connections: '500', shared_buffers: '1GB' },
      },
      affinity: { nodeSelector: { disk: 'ssd' } },
    });
  });

  test('creates no database if the Cluster starts from another', async () => {
    const extraSpec = { bootstrap: { recovery: { source: 'old' } }, instances: 5 };
    expect(await specOf('Cluster svc-db', { database: { cnpg: { enabled: true, extraSpec } } })).toMatchObject({
      instances: 5,
      bootstrap: { recovery: { source: 'old' } },
    });
    expect(await specOf('Cluster svc-db', { database: { cnpg: { enabled: true, extraSpec } } })).not.toHaveProperty(
      'bootstrap.initdb',
    );
  });

  test('accepts 0 and false in the spec of a Cluster', async () => {
    const extraSpec = {
      enableSuperuserAccess: false,
      minSyncReplicas: 0,
      postgresql: { synchronous: { number: 2 } },
      storage: { resizeInUseVolumes: true },
    };
    const cnpg = { enabled: true, extraSpec: { ...extraSpec, storage: { ...extraSpec.storage, size: '' } } };
    expect(await specOf('Cluster svc-db', { database: { cnpg } })).toMatchObject({
      enableSuperuserAccess: false,
      minSyncReplicas: 0,
      postgresql: { synchronous: { method: 'any', number: 2 } },
      storage: { resizeInUseVolumes: true, size: '' },
    });
  });

  test('labels of one kind of pods override those of all objects, and configured authorities those of the chart', async () => {
    const values = {
      database,
      commonLabels: { team: 'all', site: 'a' },
      apiserver: { podLabels: { team: 'api' } },
      tls: { existingSecret: 'own' },
      plugins: [{ name: 'blog', image: 'blog:1' }],
      controllerManager: { extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/x' }] },
    };
    const spec = (await specOf('Deployment svc-apiserver', values)) as { template: { metadata: { labels: object } } };
    expect(spec.template.metadata.labels).toMatchObject({ team: 'api', site: 'a', 'app.kubernetes.io/name': 'svc' });
    const { template } = (await specOf('Deployment svc-controller-manager', values)) as {
      template: { spec: { containers: { env: { name: string; value?: string }[] }[] } };
    };
    const names = template.spec.containers[0]!.env.map(({ name }) => name);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
    expect(template.spec.containers[0]!.env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: '/x' });
  });

  test('annotations of all objects are on each; those of one kind, and those of the chart, override them', async () => {
    const documents = await renderChart({
      database: { cnpg: { enabled: true } },
      commonAnnotations: { owner: 'platform', tier: 'all' },
      apiserver: { service: { annotations: { tier: 'api' } }, podAnnotations: { pod: 'yes' } },
      ingress: { enabled: true, host: 'svc.example.com', annotations: { tier: '' } },
      networkPolicy: { enabled: true },
      backup: { enabled: true, existingClaim: 'backups' },
    });
    for (const { metadata } of documents) expect(metadata.annotations).toMatchObject({ owner: 'platform' });
    const of = (title: string): unknown =>
      documents.find(({ kind, metadata }) => `${kind} ${metadata.name}` === title)!.metadata.annotations;
    expect(of('Service svc-apiserver')).toEqual({ owner: 'platform', tier: 'api' });
    expect(of('Ingress svc')).toEqual({ owner: 'platform', tier: '' });
    expect(of('Cluster svc-db')).toEqual({ owner: 'platform', tier: 'all', 'helm.sh/resource-policy': 'keep' });
    expect(of('NetworkPolicy svc-test')).toEqual({ owner: 'platform', tier: 'all' });
    expect(of('NetworkPolicy svc-upgrade-check')).toHaveProperty(['helm.sh/hook'], 'pre-upgrade,pre-rollback');
    const { template } = documents.find(({ kind }) => kind === 'Deployment')!['spec'] as {
      template: { metadata: { annotations: object } };
    };
    expect(template.metadata.annotations).not.toHaveProperty('owner');
  });

  test('containers, names and sizes of a component override those of all; jobs resolve names like API servers', async () => {
    const image = 'registry.example.com/other:1';
    const pods = await podSpecs({
      database,
      plugins: [{ name: 'blog', image: 'blog:1' }],
      initContainers: [{ name: 'wait', image }],
      extraContainers: [{ name: 'shipper', image }],
      emptyDirSizeLimits: { data: '1Gi' },
      dnsPolicy: 'Default',
      dnsConfig: { searches: ['all.example.com'] },
      apiserver: { dnsPolicy: 'ClusterFirst', emptyDirSizeLimits: { data: '3Gi' } },
      accessServer: {
        initContainers: [{ name: 'first', image }],
        extraContainers: [{ name: 'proxy', image }],
        dnsConfig: { searches: ['access.example.com'] },
      },
    });
    const names = (owner: string): unknown => {
      const { containers, initContainers = [] } = pods.get(owner)!;
      return [initContainers.map(({ name }) => name), containers.map(({ name }) => name)];
    };
    expect(names('Deployment svc-apiserver')).toEqual([['wait'], ['apiserver', 'shipper']]);
    expect(names('Deployment svc-access-server')).toEqual([['first'], ['access-server', 'proxy']]);
    expect(names('Deployment svc-controller-manager')).toEqual([
      ['plugin-blog', 'wait'],
      ['controller-manager', 'shipper'],
    ]);
    for (const owner of ['Deployment svc-apiserver', 'Job svc-migration-check', 'CronJob svc-backup', 'Pod svc-test'])
      expect(pods.get(owner)).toMatchObject({
        dnsPolicy: 'ClusterFirst',
        dnsConfig: { searches: ['all.example.com'] },
      });
    expect(pods.get('Deployment svc-access-server')).toMatchObject({
      dnsPolicy: 'Default',
      dnsConfig: { searches: ['access.example.com'] },
    });
    for (const owner of ['Job svc-migration-check', 'CronJob svc-backup', 'Pod svc-test'])
      expect(names(owner)).toEqual([[], [expect.any(String)]]);
    const sizes = (owner: string): unknown =>
      Object.fromEntries(
        pods.get(owner)!.volumes!.flatMap(({ name, emptyDir }) => (emptyDir === undefined ? [] : [[name, emptyDir]])),
      );
    expect(sizes('Deployment svc-apiserver')).toEqual({ data: { sizeLimit: '3Gi' }, tmp: { sizeLimit: '256Mi' } });
    expect(sizes('CronJob svc-backup')).toEqual({ data: { sizeLimit: '1Gi' }, tmp: { sizeLimit: '256Mi' } });
    expect(sizes('Deployment svc-controller-manager')).toEqual({
      data: { sizeLimit: '1Gi' },
      tmp: { sizeLimit: '256Mi' },
      'plugin-blog': { sizeLimit: '256Mi' },
    });
  });

  test('renders other objects as templates', async () => {
    const extraObjects = [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ include "svc.fullname" . }}-a' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: {{ .Release.Name }}-b }',
      '{{ if .Values.ingress.enabled }}none{{ end }}',
    ];
    const bare = await renderChart({ database });
    const titles = (await renderChart({ database, extraObjects })).map(
      ({ kind, metadata }) => `${kind} ${metadata.name}`,
    );
    expect(titles).toHaveLength(bare.length + 2);
    expect(titles).toEqual(expect.arrayContaining(['ConfigMap svc-a', 'ConfigMap svc-b']));
  });

  /** What Prometheus reads a component with. */
  async function credentialsOf(name: string, metrics: Values): Promise<unknown> {
    const { endpoints } = (await specOf(`ServiceMonitor svc-${name}`, { database, metrics })) as {
      endpoints: { authorization: { credentials: unknown } }[];
    };
    return endpoints[0]!.authorization.credentials;
  }

  test('gives the scrape token to every component as a file, and to Prometheus', async () => {
    const metrics = {
      scrapeToken: { name: 'scrape', key: 'value' },
      serviceMonitor: { enabled: true, credentials: { name: 'prometheus' } },
    };
    const pods = await podSpecs({ database, metrics });
    for (const name of ['apiserver', 'access-server', 'controller-manager']) {
      expect(await credentialsOf(name, metrics)).toEqual({ name: 'scrape', key: 'value' });
      const { containers, volumes } = pods.get(`Deployment svc-${name}`)!;
      const file = '/etc/svc/scrape-token/token';
      expect(containers[0]!.env).toContainEqual({ name: 'SVC_METRICS_TOKEN_FILE', value: file });
      expect(containers[0]!.volumeMounts).toContainEqual({
        name: 'scrape-token',
        mountPath: '/etc/svc/scrape-token',
        readOnly: true,
      });
      expect(volumes).toContainEqual({
        name: 'scrape-token',
        secret: { secretName: 'scrape', defaultMode: 0o440, items: [{ key: 'value', path: 'token' }] },
      });
    }
  });

  test('lets Prometheus have another token than the administrator, except for the controllers', async () => {
    const serviceMonitor = { enabled: true, credentials: { name: 'prometheus' } };
    const read = (name: string, given: Values): Promise<unknown> => credentialsOf(name, { serviceMonitor: given });
    for (const name of ['apiserver', 'access-server']) {
      expect(await read(name, serviceMonitor)).toEqual({ name: 'prometheus', key: 'token' });
      expect(await read(name, { enabled: true })).toEqual({ name: 'svc-auth', key: 'admin-token' });
    }
    const ofControllers = { name: 'svc-service-tokens', key: 'controller-manager-token' };
    expect(await read('controller-manager', serviceMonitor)).toEqual(ofControllers);
  });

  describe('gives access servers and controllers tokens of their own', () => {
    const files = (name: string): string => `/etc/svc/service-tokens/${name}`;
    /** By pod: the variables that name a token's file, and the entries of each mounted Secret. */
    async function tokensOf(values: Values): Promise<Record<string, unknown>> {
      const pods = await podSpecs({ database, ...values });
      const of = (name: string): unknown => {
        const { containers, volumes = [] } = pods.get(`Deployment svc-${name}`)!;
        const variables = containers[0]!.env!.filter((variable) => variable.name.endsWith('_TOKEN_FILE'));
        const mounted = new Set(containers[0]!.volumeMounts!.map((mount) => mount.name));
        const secrets = volumes.filter(({ secret, name: volume }) => secret !== undefined && mounted.has(volume));
        return {
          files: Object.fromEntries(variables.map((variable) => [variable.name, variable.value])),
          secrets: Object.fromEntries(
            secrets
              .map(({ secret }) => [secret!.secretName, secret!.items!.map(({ key }) => key)] as const)
              .filter(([secret]) => secret !== 'svc-database'),
          ),
        };
      };
      return Object.fromEntries(['apiserver', 'access-server', 'controller-manager'].map((name) => [name, of(name)]));
    }
    const admin = { SVC_SECURITY_INITIAL_ADMIN_TOKEN_FILE: '/etc/svc/credentials/admin-token' };
    const auth = ['admin-password', 'admin-token', 'key'];

    test("which API servers add to the database; controllers do not see the administrator's", async () => {
      expect(await tokensOf({})).toEqual({
        apiserver: {
          files: {
            ...admin,
            SVC_SECURITY_CONTROLLER_MANAGER_TOKEN_FILE: files('controller-manager'),
            SVC_SECURITY_ACCESS_SERVER_TOKEN_FILE: files('access-server'),
          },
          secrets: {
            'svc-auth': auth,
            'svc-service-tokens': ['access-server-token', 'controller-manager-token'],
          },
        },
        'access-server': {
          files: { ...admin, SVC_ACCESS_TOKEN_FILE: files('access-server') },
          secrets: { 'svc-auth': auth, 'svc-service-tokens': ['access-server-token'] },
        },
        'controller-manager': {
          files: { SVC_CONTROLLERS_TOKEN_FILE: files('controller-manager') },
          secrets: { 'svc-service-tokens': ['controller-manager-token'] },
        },
      });
    });

    test('from a Secret of the operator', async () => {
      const keys = { controllerManager: 'c', accessServer: 'a' };
      const pods = await tokensOf({
        auth: { existingSecret: { name: 'own' } },
        serviceTokens: { existingSecret: { name: 'tokens', keys } },
      });
      expect(pods['controller-manager']).toMatchObject({ secrets: { tokens: ['c'] } });
      expect(pods['access-server']).toMatchObject({ secrets: { own: auth, tokens: ['a'] } });
    });

    test("but the administrator's where the credentials are the operator's alone", async () => {
      const pods = await tokensOf({ auth: { existingSecret: { name: 'own' } } });
      const file = admin.SVC_SECURITY_INITIAL_ADMIN_TOKEN_FILE;
      expect(pods).toEqual({
        apiserver: { files: admin, secrets: { own: auth } },
        'access-server': { files: { ...admin, SVC_ACCESS_TOKEN_FILE: file }, secrets: { own: auth } },
        'controller-manager': { files: { SVC_CONTROLLERS_TOKEN_FILE: file }, secrets: { own: ['admin-token'] } },
      });
    });
  });

  test('gives clients the authority as a file that is read again, and plugins the one of the start', async () => {
    const given = async (name: string, values: Values = {}): Promise<string[]> => {
      const pods = await podSpecs({ database, tls: { existingSecret: 'own' }, ...values });
      return pods
        .get(`Deployment svc-${name}`)!
        .containers[0]!.env!.filter(({ value }) => value === '/etc/svc/tls/ca.crt')
        .map((variable) => variable.name);
    };
    expect(await given('access-server')).toEqual(['SVC_ACCESS_CA_FILE']);
    expect(await given('controller-manager')).toEqual(['SVC_CONTROLLERS_CA_FILE']);
    expect(await given('controller-manager', { plugins: [{ name: 'blog', configMap: 'blog' }] })).toEqual([
      'SVC_CONTROLLERS_CA_FILE',
      'NODE_EXTRA_CA_CERTS',
    ]);
    expect(await given('access-server', { tls: { existingSecret: 'own', caKey: '' } })).toEqual([]);
  });

  test('schedules jobs like API servers', async () => {
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }],
      },
    };
    const podAntiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: {} }],
    };
    const placement = {
      nodeSelector: { pool: 'svc' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      priorityClassName: 'high',
    };
    const pods = await podSpecs({ database, apiserver: { ...placement, affinity: { nodeAffinity, podAntiAffinity } } });
    expect(pods.get('Deployment svc-apiserver')).toMatchObject({
      ...placement,
      affinity: { nodeAffinity, podAntiAffinity },
    });
    for (const owner of ['Job svc-migration-check', 'CronJob svc-backup', 'Pod svc-test'])
      expect(pods.get(owner)).toEqual(expect.objectContaining({ ...placement, affinity: { nodeAffinity } }));
    expect(pods.get('Deployment svc-access-server')).not.toHaveProperty('nodeSelector');
  });

  test.each([
    { reason: 'its own', values: {}, ids: { runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001 } },
    {
      reason: 'another group of volumes',
      values: { podSecurityContext: { fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' } },
      ids: { runAsUser: 10001, runAsGroup: 10001, fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' },
    },
    {
      reason: 'those of the cluster, each',
      values: { podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
      ids: {},
    },
    { reason: 'those of the cluster', values: { podSecurityContext: null }, ids: {} },
  ])('gives every pod as user and groups $reason', async ({ values, ids }) => {
    const pods = await podSpecs({ database, ...values });
    expect(pods.size).toBe(6);
    for (const { securityContext } of pods.values())
      expect(securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' }, ...ids });
  });

  test.each([
    { url: 'postgres://svc:p@postgres.example.com:6432/svc?sslmode=require', port: 6432 },
    { url: 'postgresql://svc:a:1@postgres.example.com/svc', port: 5433 },
    { url: 'postgres://[fd00::5432]:6432/svc', port: 6432 },
    { url: 'postgres://svc@[fd00::5432]/svc', port: 5433 },
    { url: 'postgres://localhost:6432', port: 6432 },
    { url: 'postgres://svc@a:6432,b:6432/svc', port: 6432 },
    { url: 'postgres://svc@a:6432,b/svc?target_session_attrs=read-write', port: 6432, other: 5433 },
  ])('opens the ports of $url', async ({ url, port, other }) => {
    const spec = await specOf('NetworkPolicy svc-apiserver', {
      database: { url },
      networkPolicy: { enabled: true, databasePort: 5433 },
    });
    expect((spec as { egress: unknown[] }).egress[1]).toEqual({
      ports: [{ port }, ...(other === undefined ? [] : [{ port: other }])],
    });
  });

  test('opens the ports that jobs need', async () => {
    const extra = { ports: [{ port: 15012 }] };
    const values = {
      database,
      tls: { existingSecret: 'own' },
      networkPolicy: { enabled: true, databaseTo: [{ ipBlock: { cidr: '10.0.0.1/32' } }], extraEgress: [extra] },
      backup: { enabled: true, existingClaim: 'backups' },
    };
    const dns = { ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))) };
    const labels = { 'app.kubernetes.io/name': 'svc', 'app.kubernetes.io/instance': 'svc' };
    const to = (component: string): object => ({
      podSelector: { matchLabels: { ...labels, 'app.kubernetes.io/component': component } },
    });
    const closed = (component: string, egress: readonly object[]): object => ({
      ...to(component),
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [dns, ...egress, extra],
    });
    for (const [name, component] of [
      ['upgrade-check', 'migration-check'],
      ['backup', 'backup'],
    ] as const)
      expect(await specOf(`NetworkPolicy svc-${name}`, values)).toEqual(
        closed(component, [{ ports: [{ port: 5432 }], to: [{ ipBlock: { cidr: '10.0.0.1/32' } }] }]),
      );
    expect(await specOf('NetworkPolicy svc-test', values)).toEqual(
      closed('test', [
        { ports: [{ port: 8443 }], to: [to('apiserver')] },
        { ports: [{ port: 8444 }], to: [to('access-server')] },
      ]),
    );
  });

  const monitored = { serviceMonitor: { enabled: true, labels: { release: 'p' } }, prometheusRule: { enabled: true } };

  test('monitors the pods of a Cluster, as its exporter listens', async () => {
    const podMonitor = (cnpg: Values): Promise<unknown> =>
      specOf('PodMonitor svc-db', { database: { cnpg: { enabled: true, ...cnpg } }, metrics: monitored });
    const selector = { matchLabels: { 'cnpg.io/cluster': 'svc-db' } };
    expect(await podMonitor({})).toEqual({ selector, podMetricsEndpoints: [{ port: 'metrics', interval: '30s' }] });
    expect(await podMonitor({ extraSpec: { monitoring: { tls: { enabled: true } } } })).toEqual({
      selector,
      podMetricsEndpoints: [
        {
          port: 'metrics',
          interval: '30s',
          scheme: 'https',
          tlsConfig: { serverName: 'svc-db-rw', ca: { secret: { name: 'svc-db-ca', key: 'ca.crt' } } },
        },
      ],
    });
  });

  test.each([
    { reason: 'without a Cluster', values: { database, metrics: monitored }, kinds: ['PrometheusRule svc'] },
    {
      reason: 'without monitoring',
      values: { database: { cnpg: { enabled: true } } },
      kinds: [],
    },
    {
      reason: 'if the operator makes a monitor',
      values: {
        database: { cnpg: { enabled: true, extraSpec: { monitoring: { enablePodMonitor: true } } } },
        metrics: monitored,
      },
      kinds: ['PrometheusRule svc', 'PrometheusRule svc-db'],
    },
  ])('has no second monitor of a Cluster, or no alerts, $reason', async ({ values, kinds }) => {
    expect(
      (await renderChart(values))
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
        .filter((title) => /^(PodMonitor|PrometheusRule) /.test(title))
        .toSorted(),
    ).toEqual(kinds);
  });

  test('alerts of a Cluster are for that one, and for backups if there is a schedule', async () => {
    const rules = async (cnpg: Values): Promise<{ alert: string; expr: string; annotations: object }[]> => {
      const { groups } = (await specOf('PrometheusRule pg-svc-db', {
        fullnameOverride: 'pg-svc',
        database: { cnpg: { enabled: true, ...cnpg } },
        metrics: { prometheusRule: { enabled: true, runbookUrl: 'https://docs.example.com/runbook' } },
      })) as { groups: { rules: { alert: string; expr: string; annotations: object }[] }[] };
      return groups.flatMap((group) => group.rules);
    };
    const [without, scheduled] = await Promise.all([
      rules({}),
      rules({ backup: { volumeSnapshot: {} }, backupSchedule: '0 0 3 * * 0', maxBackupAgeHours: 170 }),
    ]);
    expect(new Set(without.map(({ alert }) => alert))).toEqual(
      new Set(['SvcDatabaseStandbyBehind', 'SvcDatabaseConnectionsHigh', 'SvcDatabaseArchiveFails']),
    );
    expect(without[0]).toMatchObject({
      expr: 'cnpg_pg_replication_lag{namespace="prod", pod=~"pg-svc-db-[0-9]+"} > 60',
      annotations: {
        summary: 'The standby {{ $labels.pod }} is behind its primary',
        runbook_url: 'https://docs.example.com/runbook#svcdatabasestandbybehind',
      },
    });
    const ages = scheduled.filter(({ alert }) => alert === 'SvcDatabaseBackupOld').map(({ expr }) => expr);
    expect(ages).toEqual([expect.stringMatching(/ > 170 \* 3600$/), expect.stringMatching(/ offset 170h\) == 0$/)]);
    for (const { expr } of scheduled) expect(expr).not.toMatch(/"svc"|"svc-db-|26/);
  });

  test('has its result of the migration check before helm times out, after 5 minutes', async () => {
    expect((await specOf('Job svc-migration-check', { database })) as object).toMatchObject({
      activeDeadlineSeconds: 240,
    });
  });

  describe('access management at the host of the platform', () => {
    const reached = (onPlatformHost: string, more: Values = {}): Values => ({
      database,
      accessServer: { onPlatformHost },
      ingress: { enabled: true, host: 'svc.example.com' },
      gateway: { enabled: true, hostnames: ['svc.example.com'], parentRefs: [{ name: 'gateway' }] },
      networkPolicy: { enabled: true },
      ...more,
    });
    interface Route {
      path: string;
      to: string;
    }

    async function ingressRoutes(values: Values): Promise<Route[]> {
      interface Ingress {
        rules: { host: string; http: { paths: { path: string; backend: { service: { name: string } } }[] } }[];
      }
      const { rules } = (await specOf('Ingress svc', values)) as Ingress;
      expect(rules.map(({ host }) => host)).toEqual(['svc.example.com']);
      return rules[0]!.http.paths.map(({ path, backend }) => ({ path, to: backend.service.name }));
    }

    async function gatewayRoutes(values: Values): Promise<Route[]> {
      interface HttpRoute {
        rules: { matches?: { path: { type: string; value: string } }[]; backendRefs: { name: string }[] }[];
      }
      const { rules } = (await specOf('HTTPRoute svc-apiserver', values)) as HttpRoute;
      for (const { matches = [] } of rules) expect(matches.length).toBeLessThanOrEqual(8);
      return rules.flatMap(({ matches = [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs }) =>
        matches.map(({ path }) => ({ path: path.value, to: backendRefs[0]!.name })),
      );
    }

    async function apiServerEnv(values: Values): Promise<{ name: string; value?: string }[]> {
      const pods = await podSpecs(values);
      const { env } = pods.get('Deployment svc-apiserver')!.containers[0]!;
      return (env as { name: string; value?: string }[]).filter(({ name }) => name.startsWith('SVC_SERVER_ACCESS_'));
    }

    async function apiServerEgress(values: Values): Promise<string> {
      const { egress } = (await specOf('NetworkPolicy svc-apiserver', values)) as { egress: object[] };
      return JSON.stringify(egress);
    }

    test('is forwarded by the API servers, by default', async () => {
      const { accessServer: _default, ...byDefault } = reached('');
      for (const values of [byDefault, reached('forward')]) {
        expect(await apiServerEnv(values)).toEqual([
          { name: 'SVC_SERVER_ACCESS_URL', value: 'http://svc-access-server.prod.svc:80' },
        ]);
        const all = [{ path: '/', to: 'svc-apiserver' }];
        expect([await ingressRoutes(values), await gatewayRoutes(values)]).toEqual([all, all]);
        expect(await apiServerEgress(values)).toMatch(/\{"port":8091\}.*"access-server"/);
      }
    });

    test('is forwarded by TLS, if pods speak it', async () => {
      const values = reached('forward', { tls: { existingSecret: 'own' } });
      expect(await apiServerEnv(values)).toEqual([
        { name: 'SVC_SERVER_ACCESS_URL', value: 'https://svc-access-server.prod.svc:443' },
        { name: 'SVC_SERVER_ACCESS_CA_FILE', value: '/etc/svc/tls/ca.crt' },
      ]);
      expect(await apiServerEgress(values)).toMatch(/\{"port":8444\}.*"access-server"/);
    });

    test('is routed to, by exactly the paths that API servers forward', async () => {
      const values = reached('ingress');
      expect(await apiServerEnv(values)).toEqual([]);
      expect(await apiServerEgress(values)).not.toContain('access-server');
      const routes = await ingressRoutes(values);
      expect(await gatewayRoutes(values)).toEqual(routes);
      expect(routes.at(-1)).toEqual({ path: '/', to: 'svc-apiserver' });
      const accessPaths = routes.slice(0, -1);
      expect(new Set(accessPaths.map(({ to }) => to))).toEqual(new Set(['svc-access-server']));
      for (const { path } of accessPaths) expect(accessPrefixOf(`${path}/x`)).toBe(path);
      expect(accessPaths.map(({ path }) => path).toSorted()).toEqual([...accessPrefixes].toSorted());
    });

    test('is neither, if the values say so or it does not run', async () => {
      for (const values of [reached('none'), reached('forward', { accessServer: { enabled: false } })]) {
        const all = [{ path: '/', to: 'svc-apiserver' }];
        expect([await apiServerEnv(values), await ingressRoutes(values), await gatewayRoutes(values)]).toEqual([
          [],
          all,
          all,
        ]);
        expect(await apiServerEgress(values)).not.toContain('access-server');
      }
    });
  });
});
