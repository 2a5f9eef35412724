import type { Values } from './render-chart.ts';

/** Part of each secret; it must appear only in Secrets. */
export const planted = 'hunter2hunter2';
export const databaseUrl = `postgres://svc:${planted}@postgres.example.com:5432/svc`;

export interface ValuesSet {
  name: string;
  values: Values;
  /** Objects that these values expect to exist: `Secret/own`. */
  existing?: readonly string[];
  kubeVersions?: readonly string[];
  release?: string;
}

const byUrl = { database: { url: databaseUrl } };
const monitoring = {
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  dashboards: { enabled: true },
};
const prometheus = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
const certManager = {
  certManager: { enabled: true, issuerRef: { name: 'ca', kind: 'ClusterIssuer' }, dnsNames: ['svc.example.com'] },
};
const everyPlugin = [
  { name: 'blog', image: 'registry.example.com/blog:1.0.0' },
  {
    name: 'shop',
    image: 'registry.example.com/shop:2.0.0',
    path: '/srv/shop',
    command: ['/copy', '/target'],
    pullPolicy: 'Always',
  },
  {
    name: 'notes',
    configMap: 'notes-plugin',
    items: [
      { key: 'plugin.yaml', path: 'plugin.yaml' },
      { key: 'preset', path: 'presets/first.yaml' },
    ],
  },
  { name: 'forms', volume: { persistentVolumeClaim: { claimName: 'forms' } }, path: 'current' },
];
const otherContainer = {
  image: 'registry.example.com/other:1',
  resources: {
    requests: { cpu: '10m', memory: '16Mi', 'ephemeral-storage': '16Mi' },
    limits: { memory: '64Mi', 'ephemeral-storage': '64Mi' },
  },
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
};
const dns = { nameservers: ['10.0.0.10'], searches: ['svc.cluster.local'], options: [{ name: 'ndots', value: '2' }] };
const component = {
  replicas: 3,
  podAnnotations: { 'example.com/team': 'platform' },
  podLabels: { team: 'platform' },
  extraEnv: [
    { name: 'NODE_OPTIONS', value: '--max-old-space-size=512' },
    { name: 'SMTP_PASSWORD', valueFrom: { secretKeyRef: { name: 'smtp', key: 'password' } } },
  ],
  extraVolumes: [{ name: 'scratch', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }],
      },
    },
  },
  priorityClassName: 'high',
  initContainers: [{ name: 'wait', ...otherContainer }],
  extraContainers: [
    { name: 'shipper', ...otherContainer, volumeMounts: [{ name: 'scratch', mountPath: '/scratch', readOnly: true }] },
  ],
  emptyDirSizeLimits: { data: '2Gi' },
  dnsPolicy: 'None',
  dnsConfig: dns,
  podDisruptionBudget: { maxUnavailable: '50%' },
};

/** The tested values: each kind of database, credential, certificate and plugin, and all together. */
export const valuesSets: readonly ValuesSet[] = [
  { name: 'a URL and nothing else', values: byUrl },
  {
    name: 'the least',
    values: {
      ...byUrl,
      accessServer: { enabled: false },
      controllerManager: { enabled: false },
      apiserver: { replicas: 1 },
      serviceAccount: { create: false },
      migrationCheck: { enabled: false },
      test: { enabled: false },
    },
  },
  {
    name: 'Secrets that are there',
    values: {
      database: {
        existingSecret: { name: 'own-db', key: 'dsn' },
        caSecret: { name: 'own-ca', key: 'root.pem' },
        readSecret: { name: 'own-reads', key: 'dsn' },
      },
      auth: {
        existingSecret: { name: 'own-auth', keys: { adminToken: 'token', adminPassword: 'password', key: 'keys.txt' } },
      },
      imagePullSecrets: [{ name: 'registry' }],
      metrics: { serviceMonitor: { enabled: true } },
    },
    existing: ['Secret/own-db', 'Secret/own-ca', 'Secret/own-reads', 'Secret/own-auth', 'Secret/registry'],
  },
  {
    name: 'tokens of access servers and controllers that are there',
    values: {
      ...byUrl,
      auth: { existingSecret: { name: 'own-auth' } },
      serviceTokens: {
        existingSecret: { name: 'own-tokens', keys: { controllerManager: 'controllers', accessServer: 'access' } },
      },
      metrics: { serviceMonitor: { enabled: true } },
    },
    existing: ['Secret/own-auth', 'Secret/own-tokens'],
  },
  {
    name: 'CloudNativePG',
    values: {
      database: {
        cnpg: {
          enabled: true,
          imageName: 'ghcr.io/cloudnative-pg/postgresql:18',
          walStorage: { size: '4Gi', storageClass: 'fast' },
          storage: { size: '50Gi', storageClass: 'fast' },
          resources: { requests: { cpu: 1, memory: '2Gi' } },
          backup: { barmanObjectStore: { destinationPath: 's3://backups/svc' } },
          backupSchedule: '0 0 3 * * *',
          extraSpec: { primaryUpdateStrategy: 'unsupervised' },
        },
      },
    },
    existing: ['Secret/svc-db-app', 'Secret/svc-db-ca'],
  },
  {
    name: 'CloudNativePG, monitored over TLS',
    values: {
      database: {
        cnpg: {
          enabled: true,
          backup: { barmanObjectStore: { destinationPath: 's3://backups/svc' } },
          backupSchedule: '0 0 3 * * 0',
          maxBackupAgeHours: 170,
          extraSpec: { monitoring: { tls: { enabled: true } } },
        },
      },
      metrics: monitoring,
    },
    existing: ['Secret/svc-db-app', 'Secret/svc-db-ca'],
  },
  {
    name: 'CloudNativePG, one server',
    values: { database: { cnpg: { enabled: true, instances: 1, synchronous: { number: 0 } } } },
    existing: ['Secret/svc-db-app', 'Secret/svc-db-ca'],
  },
  {
    name: 'a Cluster with more in its spec',
    values: {
      database: {
        cnpg: {
          enabled: true,
          extraSpec: {
            postgresql: { pg_hba: ['hostssl all all 10.0.0.0/8 scram-sha-256'], parameters: { shared_buffers: '1GB' } },
            bootstrap: { recovery: { source: 'old' } },
            externalClusters: [{ name: 'old', connectionParameters: { host: 'old.example.com' } }],
          },
        },
      },
    },
    existing: ['Secret/svc-db-app', 'Secret/svc-db-ca'],
  },
  {
    name: 'as many connections as autoscaling may take',
    values: {
      database: { cnpg: { enabled: true } },
      apiserver: { autoscaling: { enabled: true } },
      accessServer: { autoscaling: { enabled: true } },
    },
    existing: ['Secret/svc-db-app', 'Secret/svc-db-ca'],
  },
  {
    name: 'an account that is there',
    values: { ...byUrl, serviceAccount: { create: false, name: 'own' } },
    existing: ['ServiceAccount/own'],
  },
  { name: 'users and groups that are left to the cluster', values: { ...byUrl, podSecurityContext: null } },
  {
    name: 'another token for Prometheus',
    values: {
      ...byUrl,
      metrics: { serviceMonitor: { enabled: true, credentials: { name: 'prometheus', key: 'bearer' } } },
    },
  },
  {
    name: 'a token for the metrics alone',
    values: { ...byUrl, metrics: { scrapeToken: { name: 'scrape' }, serviceMonitor: { enabled: true } } },
    existing: ['Secret/scrape'],
  },
  {
    name: 'a certificate that is there',
    values: { ...byUrl, tls: { existingSecret: 'own-tls' }, metrics: { serviceMonitor: { enabled: true } } },
    existing: ['Secret/own-tls'],
  },
  {
    name: 'a certificate that every machine trusts',
    values: { ...byUrl, tls: { existingSecret: 'own-tls', caKey: '' }, metrics: { serviceMonitor: { enabled: true } } },
    existing: ['Secret/own-tls'],
  },
  { name: 'cert-manager', values: { ...byUrl, tls: certManager }, existing: ['Secret/svc-tls'] },
  {
    name: 'an Ingress',
    values: {
      ...byUrl,
      ingress: {
        enabled: true,
        className: 'nginx',
        host: 'svc.example.com',
        accessHost: 'login.example.com',
        annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
        tls: { secretName: 'public-tls' },
      },
      config: { 'svc.http.trusted-proxies': ['10.0.0.0/8', '192.168.0.0/16'] },
    },
    existing: ['Secret/public-tls'],
  },
  {
    name: 'a Gateway',
    values: {
      ...byUrl,
      gateway: {
        enabled: true,
        parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
        hostnames: ['svc.example.com'],
        accessHostnames: ['login.example.com'],
        annotations: { a: 'b' },
      },
    },
  },
  { name: 'all monitoring', values: { ...byUrl, metrics: monitoring } },
  {
    name: 'plugins of each kind',
    values: { ...byUrl, plugins: everyPlugin },
    existing: ['ConfigMap/notes-plugin', 'PersistentVolumeClaim/forms'],
  },
  {
    name: 'a plugin as an image volume',
    values: {
      ...byUrl,
      plugins: [{ name: 'blog', image: 'registry.example.com/blog:1.0.0', imageVolume: true, path: '/blog' }],
    },
    kubeVersions: ['1.35.0'],
  },
  {
    name: 'autoscaling',
    values: {
      ...byUrl,
      apiserver: {
        autoscaling: { enabled: true, maxReplicas: 10, behavior: { scaleDown: { stabilizationWindowSeconds: 600 } } },
      },
      accessServer: { autoscaling: { enabled: true, minReplicas: 1 } },
    },
  },
  {
    name: 'network policies',
    values: { ...byUrl, networkPolicy: { enabled: true }, backup: { enabled: true, existingClaim: 'backups' } },
    existing: ['PersistentVolumeClaim/backups'],
  },
  {
    name: 'narrow network policies',
    values: {
      ...byUrl,
      metrics: monitoring,
      networkPolicy: {
        enabled: true,
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
        monitoringFrom: [prometheus],
        databaseTo: [{ ipBlock: { cidr: '10.1.2.3/32' } }],
        extraEgress: [{ ports: [{ port: 443 }] }],
      },
    },
  },
  {
    name: 'containers, names and sizes for all',
    values: {
      ...byUrl,
      dnsPolicy: 'ClusterFirst',
      dnsConfig: { options: [{ name: 'single-request-reopen' }] },
      initContainers: [{ name: 'wait', ...otherContainer }],
      extraContainers: [{ name: 'shipper', ...otherContainer }],
      emptyDirSizeLimits: { data: '1Gi', tmp: '', plugin: '' },
      plugins: [{ name: 'blog', image: 'registry.example.com/blog:1.0.0' }],
      backup: { enabled: true, existingClaim: 'backups' },
    },
    existing: ['PersistentVolumeClaim/backups'],
  },
  {
    name: 'other objects, as objects and as text',
    values: {
      ...byUrl,
      commonAnnotations: { 'example.com/owner': 'platform' },
      extraObjects: [
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '{{ include "svc.fullname" . }}-more', namespace: '{{ .Release.Namespace }}' },
          data: { version: '{{ .Chart.AppVersion }}' },
        },
        'apiVersion: v1\nkind: Secret\nmetadata:\n  name: more\n  namespace: {{ .Release.Namespace }}\ndata: {}\n',
        '{{- if .Values.ingress.enabled }}never{{ end }}',
      ],
    },
  },
  {
    name: 'backups',
    values: { ...byUrl, backup: { enabled: true, existingClaim: 'backups', keep: 7 } },
    existing: ['PersistentVolumeClaim/backups'],
  },
  {
    name: 'every option of a kind',
    values: {
      ...byUrl,
      listenAddress: '::',
      drain: { delaySeconds: 0, timeoutSeconds: 10 },
      config: {
        'svc.http.max-in-flight': 1_000_000,
        'svc.log.level': 'debug',
        'svc.security.basic-auth.disabled': false,
        'svc.api.request-timeout': '1m',
        'svc.access.audit.retention-days': '90',
        'svc.http.cors.allowed-origins': ['https://console.example.com'],
      },
    },
  },
  {
    name: 'a long name',
    release: 'a-release-whose-name-is-as-long-as-helm-allows-53-chr',
    values: { ...byUrl, nameOverride: 'platform', backup: { enabled: true, existingClaim: 'backups' } },
    existing: ['PersistentVolumeClaim/backups'],
  },
  {
    name: 'a release with a dot',
    release: 'my.svc',
    values: { ...byUrl, backup: { enabled: true, existingClaim: 'backups' } },
    existing: ['PersistentVolumeClaim/backups'],
  },
  { name: 'a name with a dot', values: { ...byUrl, fullnameOverride: 'svc.prod', nameOverride: 'svc.name' } },
  {
    name: 'everything at once',
    values: {
      commonLabels: { team: 'platform' },
      commonAnnotations: { 'example.com/owner': 'platform' },
      dnsPolicy: 'Default',
      extraObjects: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'more', namespace: 'prod' }, data: { a: 'b' } },
      ],
      image: { repository: 'registry.example.com/svc', digest: `sha256:${'0'.repeat(64)}`, pullPolicy: 'Always' },
      database: { cnpg: { enabled: true } },
      tls: certManager,
      serviceAccount: { name: 'own', annotations: { a: 'b' } },
      apiserver: {
        ...component,
        autoscaling: { enabled: true },
        service: { type: 'LoadBalancer', port: 8443, annotations: { a: 'b' } },
      },
      accessServer: component,
      controllerManager: {
        ...component,
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'rack',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { a: 'b' } },
          },
        ],
      },
      plugins: everyPlugin,
      ingress: { enabled: true, host: 'svc.example.com' },
      gateway: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['svc.example.com'] },
      networkPolicy: { enabled: true, monitoringFrom: [prometheus] },
      metrics: monitoring,
      backup: { enabled: true, existingClaim: 'backups' },
    },
    existing: [
      'Secret/svc-db-app',
      'Secret/svc-db-ca',
      'Secret/svc-tls',
      'Secret/smtp',
      'ConfigMap/notes-plugin',
      'PersistentVolumeClaim/forms',
      'PersistentVolumeClaim/backups',
    ],
  },
];
