import { defaultOrgId, namespaceOf } from './person.ts';
import { masters, type Binding, type ClusterRole, type Rule } from './rbac.ts';

/** A registered model with generated roles. */
export interface KnownModel {
  readonly group: string;
  readonly plural: string;
}

const rbacGroup = 'rbac.authorization.k8s.io';
const read = ['get', 'list', 'watch'];
const anyVerb = ['*'];

function aggregateTo(role: string): Record<string, string> {
  return { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' };
}

/** Contract extension-api.md, section 6: generated for each model with a status. */
function rolesOfModel({ group, plural }: KnownModel): ClusterRole[] {
  const resources = [plural, `${plural}/status`];
  return [
    // A status cannot be listed, so these verbs are harmless on it.
    {
      name: `${plural}.${group}:view`,
      labels: aggregateTo('view'),
      rules: [{ apiGroups: [group], resources, verbs: read }],
    },
    {
      name: `${plural}.${group}:manage`,
      labels: aggregateTo('edit'),
      rules: [
        { apiGroups: [group], resources, verbs: [...read, 'create', 'update', 'patch', 'delete', 'deletecollection'] },
      ],
    },
  ];
}

/**
 * The rules of Kubernetes' `view`, `edit` and `admin` for the kinds that exist here: viewers see namespaces, events,
 * ConfigMaps and plugins, but no Secrets, which editors read and write; a namespace's admin grants roles in it. Definitions, leases and cluster roles are for administrators.
 */
const builtInView: readonly Rule[] = [
  {
    apiGroups: [''],
    resources: ['namespaces', 'namespaces/status', 'resourcequotas', 'resourcequotas/status', 'configmaps', 'events'],
    verbs: read,
  },
  { apiGroups: ['plugin.svc.run'], resources: ['plugins', 'plugins/status'], verbs: read },
];
const builtInEdit: readonly Rule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: read },
  {
    apiGroups: [''],
    resources: ['configmaps', 'events', 'secrets'],
    verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
  },
  {
    apiGroups: ['console.svc.run'],
    resources: ['savedviews'],
    verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
  },
];
const builtInAdmin: readonly Rule[] = [
  {
    apiGroups: [rbacGroup],
    resources: ['roles', 'rolebindings'],
    verbs: [...read, 'create', 'update', 'patch', 'delete', 'deletecollection'],
  },
  { apiGroups: ['authorization.k8s.io'], resources: ['localsubjectaccessreviews'], verbs: ['create'] },
];

/** Kubernetes' role of that name, and the reference documents, which contain no more than `/openapi`. */
const discovery: readonly Rule[] = [
  {
    nonResourceURLs: [
      '/api',
      '/api/*',
      '/apis',
      '/apis/*',
      '/openapi',
      '/openapi/*',
      '/version',
      '/version/',
      '/livez',
      '/readyz',
      '/healthz',
      '/docs',
      '/docs/*',
    ],
    verbs: ['get'],
  },
];
const basicUser: readonly Rule[] = [
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    verbs: ['create'],
  },
  { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
  { apiGroups: ['stream.svc.run'], resources: ['streams'], verbs: ['create'] },
  { apiGroups: ['console.svc.run'], resources: ['savedviews'], verbs: read },
  { apiGroups: ['console.svc.run'], resources: ['formhints'], verbs: read },
  { apiGroups: ['console.svc.run'], resources: ['consolepages'], verbs: read },
];

/** docs/security.md: the garbage collector and presets concern every kind; no right to bind or escalate anything. */
const controllers: readonly Rule[] = [
  {
    apiGroups: ['*'],
    resources: ['*'],
    verbs: [...read, 'create', 'update', 'patch', 'delete', 'deletecollection'],
  },
  { apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['maintain'] },
];
/** docs/security.md: namespaces of organizations with their quotas and bindings. */
const accessServers: readonly Rule[] = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['list'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['resourcequotas'], verbs: ['get', 'create'] },
  { apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: ['get', 'create', 'update', 'delete'] },
  { apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['get'] },
  { apiGroups: [rbacGroup], resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['admin', 'edit', 'view'] },
];

export function builtInRoles(models: readonly KnownModel[]): ClusterRole[] {
  return [
    {
      name: 'cluster-admin',
      rules: [
        { apiGroups: ['*'], resources: ['*'], verbs: anyVerb },
        { nonResourceURLs: ['*'], verbs: anyVerb },
      ],
    },
    { name: 'admin', rules: [], aggregates: [aggregateTo('admin')] },
    { name: 'edit', labels: aggregateTo('admin'), rules: [], aggregates: [aggregateTo('edit')] },
    { name: 'view', labels: aggregateTo('edit'), rules: [], aggregates: [aggregateTo('view')] },
    { name: 'system:aggregate-to-view', labels: aggregateTo('view'), rules: builtInView },
    { name: 'system:aggregate-to-edit', labels: aggregateTo('edit'), rules: builtInEdit },
    { name: 'system:aggregate-to-admin', labels: aggregateTo('admin'), rules: builtInAdmin },
    { name: 'system:discovery', rules: discovery },
    { name: 'system:basic-user', rules: basicUser },
    { name: 'system:controllers', rules: controllers },
    { name: 'system:access-servers', rules: accessServers },
    {
      name: 'svc:personal-tokens',
      rules: [
        {
          apiGroups: ['uc.api.security.svc.run'],
          resources: ['personalaccesstokens', 'personalaccesstokens/actions'],
          verbs: anyVerb,
        },
      ],
    },
    ...models.flatMap(rolesOfModel),
  ];
}

/** The bindings of the existing organizations; each is a namespace in which its members have roles. */
export function builtInBindings(orgs: readonly string[]): Binding[] {
  const toGroup = (name: string, role: string, group: string, namespace?: string): Binding => ({
    name,
    role: { kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'Group', name: group }],
    ...(namespace === undefined ? {} : { namespace }),
  });
  return [
    toGroup('cluster-admin', 'cluster-admin', masters),
    toGroup('svc:system-auditors', 'view', 'svc:system-auditors'),
    toGroup('system:controllers', 'system:controllers', 'system:controllers'),
    toGroup('system:access-servers', 'system:access-servers', 'system:access-servers'),
    ...['system:discovery', 'system:basic-user', 'svc:personal-tokens'].map((role) =>
      toGroup(role, role, 'system:authenticated'),
    ),
    ...[defaultOrgId, ...orgs].flatMap((org) => [
      toGroup('svc:org-admins', 'admin', `org:${org}:OrgAdmin`, namespaceOf(org)),
      toGroup('svc:org-users', 'edit', `org:${org}:OrgUser`, namespaceOf(org)),
      toGroup('svc:org-auditors', 'view', `org:${org}:OrgAuditor`, namespaceOf(org)),
    ]),
  ];
}
