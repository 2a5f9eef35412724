import {
  consolePageType,
  formHintModel,
  leaseModel,
  pluginGroup,
  rbacGroup,
  savedViewModel,
  streamGroup,
  systemNamespace,
  type PolicyRule,
} from '#pkg/apis/index';

const read = ['get', 'list', 'watch'];
const write = ['create', 'delete', 'deletecollection', 'patch', 'update'];

/** A role that every server ensures: it exists and has at least these rules. */
export interface BootstrapRole {
  name: string;
  /** For a Role; absent for a ClusterRole. */
  namespace?: string;
  rules: PolicyRule[];
  /** Whether it has the rules of all ClusterRoles with its aggregation label. */
  aggregates?: boolean;
  /** The aggregated roles that it is part of. */
  partOf?: readonly string[];
}

/**
 * The label, with value `"true"`, of a ClusterRole that is part of `view`, `edit` or `admin`. Source: Kubernetes'
 * user-facing roles.
 */
export function aggregateLabel(role: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${role}`;
}

/** Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy, for the resources of this server. */
export const bootstrapRoles: readonly BootstrapRole[] = [
  { name: 'cluster-admin', rules: [rule(['*'], ['*'], ['*']), { verbs: ['*'], nonResourceURLs: ['*'] }] },
  { name: 'admin', aggregates: true, rules: [] },
  { name: 'edit', aggregates: true, partOf: ['admin'], rules: [] },
  { name: 'view', aggregates: true, partOf: ['edit'], rules: [] },
  {
    name: 'system:aggregate-to-admin',
    partOf: ['admin'],
    rules: [
      rule(['create'], ['authorization.k8s.io'], ['localsubjectaccessreviews']),
      rule([...read, ...write], [rbacGroup], ['rolebindings', 'roles']),
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    partOf: ['edit'],
    // Whoever may read Secrets can act as whatever they belong to: `view` may not.
    rules: [
      rule(read, [''], ['secrets']),
      rule(write, [''], ['configmaps', 'events', 'secrets']),
      rule(write, [savedViewModel.group], ['savedviews']),
    ],
  },
  {
    name: 'system:aggregate-to-view',
    partOf: ['view'],
    rules: [
      rule(
        read,
        [''],
        ['configmaps', 'events', 'namespaces', 'namespaces/status', 'resourcequotas', 'resourcequotas/status'],
      ),
      rule(read, [pluginGroup], ['plugins', 'plugins/status']),
    ],
  },
  {
    name: 'system:basic-user',
    rules: [
      rule(['create'], ['authorization.k8s.io'], ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
      rule(['create'], ['authentication.k8s.io'], ['selfsubjectreviews']),
      // A stream gives nobody a watch that the roles do not allow.
      rule(['create'], [streamGroup], ['streams']),
      // A view says how to look at objects, and shows none.
      rule(read, [savedViewModel.group], ['savedviews']),
      // Who writes them decides what others read beside a field: that is for administrators and plugins.
      rule(read, [formHintModel.group], ['formhints']),
      // A page shows nothing that its user may not read. Who writes one decides what others run and click.
      rule(read, [consolePageType.group], [consolePageType.plural]),
    ],
  },
  {
    name: 'system:discovery',
    rules: [
      paths([
        '/api',
        '/api/*',
        '/apis',
        '/apis/*',
        '/docs',
        '/docs/*',
        '/healthz',
        '/livez',
        '/openapi',
        '/openapi/*',
        '/readyz',
        '/version',
        '/version/',
      ]),
    ],
  },
  { name: 'system:monitoring', rules: [paths(['/healthz', '/livez', '/metrics', '/readyz'])] },
  { name: 'system:auditor', rules: [rule(['list'], ['audit.k8s.io'], ['events'])] },
  {
    name: 'svc:personal-tokens',
    rules: [rule(['*'], ['uc.api.security.svc.run'], ['personalaccesstokens', 'personalaccesstokens/actions'])],
  },
  // The garbage collector, emptying of namespaces, presets and models of plugins concern objects of every kind. Neither
  // `bind` nor `escalate`: they give others no more than they hold, except what `maintain` allows. Impersonation is
  // granted by name.
  {
    name: 'system:controllers',
    rules: [rule([...read, ...write], ['*'], ['*']), rule(['maintain'], [rbacGroup], ['clusterroles'])],
  },
  // Namespaces of organizations with their quotas and bindings; whether such a namespace is empty; which ClusterRoles a
  // token may be restricted to.
  {
    name: 'system:access-servers',
    rules: [
      rule(['list'], ['*'], ['*']),
      rule(['create', 'delete', 'get', 'patch'], [''], ['namespaces']),
      rule(['create', 'get'], [''], ['resourcequotas']),
      rule(['create', 'delete', 'get', 'update'], [rbacGroup], ['rolebindings']),
      rule(['get'], [rbacGroup], ['clusterroles']),
      { ...rule(['bind'], [rbacGroup], ['clusterroles']), resourceNames: ['admin', 'edit', 'view'] },
    ],
  },
  // For users whom an administrator has bound to it by name, as earlier versions advised.
  { name: 'system:controller-manager', rules: [rule([...read, ...write, 'bind', 'escalate'], ['*'], ['*'])] },
  // Permissions of a plugin's runtime, apart from the plugin's own: it writes events, and stores the positions of its
  // controllers.
  { name: 'system:plugins', rules: [rule(['create', 'get', 'patch', 'update'], [''], ['events'])] },
  {
    name: 'system:plugins',
    namespace: systemNamespace,
    rules: [rule([...read, 'create', 'patch', 'update'], [leaseModel.group], ['leases'])],
  },
];

function rule(verbs: readonly string[], apiGroups: string[], resources: string[]): PolicyRule {
  return { verbs: [...verbs], apiGroups, resources };
}

function paths(nonResourceURLs: string[]): PolicyRule {
  return { verbs: ['get'], nonResourceURLs };
}
