import type { PlatformOperation } from '../model/platform-model.ts';
import type { Attributes, ResourceRequest, Rule } from '../model/rbac.ts';
import { namespaceOf } from '../model/person.ts';
import { definitionOf } from '../fixtures/definition-of.ts';
import { audienceGroup } from '../fixtures/audiences-plugin.ts';
import type { Facts } from '../fixtures/facts.ts';
import { modelGroup } from '../fixtures/random-roles.ts';

/** One operation of the content platform with its target. */
export interface PlatformRoute extends PlatformOperation {
  readonly target: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isStream?: true;
}

const dryRun = 'dryRun=All';
const rbacGroup = 'rbac.authorization.k8s.io';
const tokens = { group: 'uc.api.security.svc.run', resource: 'personalaccesstokens' };
const modest: readonly Rule[] = [{ apiGroups: [modelGroup], resources: ['widgets'], verbs: ['get'] }];
const greedy: readonly Rule[] = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

/** The most that an aggregated role can contain. */
const everything: readonly Rule[] = [...greedy, { nonResourceURLs: ['*'], verbs: ['*'] }];

/** Every kind of operation on every kind of target in every kind of place. */
export function platformRoutes(facts: Facts): PlatformRoute[] {
  const { a, b } = facts.orgs;
  const present = [namespaceOf(a), namespaceOf(b), 'default', 'matrix-free'];
  const absent = ['org-33333333-3333-4333-8333-333333333333'];
  return [
    ...modelRoutes('gadgets', 'Gadget', undefined, true),
    ...present.flatMap((namespace) => [
      ...modelRoutes('widgets', 'Widget', namespace, true),
      ...namespaceRoutes(namespace),
    ]),
    ...absent.flatMap((namespace) => modelRoutes('widgets', 'Widget', namespace, false)),
    list({ group: modelGroup, resource: 'widgets' }, `/apis/${modelGroup}/v1/widgets`),
    {
      ...list({ group: modelGroup, resource: 'widgets' }, `/apis/${modelGroup}/v1/widgets?watch=true`),
      asks: { verb: 'watch', group: modelGroup, resource: 'widgets' },
      isStream: true,
    },
    ...clusterRoutes(),
    ...tokenRoutes(),
    ...pathRoutes(),
    ...(facts.hasPlugin ? endpointRoutes() : []),
  ];
}

function list(on: Omit<ResourceRequest, 'verb'>, target: string): PlatformRoute {
  return { method: 'GET', target, asks: { ...on, verb: 'list' }, status: [200] };
}

function create(
  on: Omit<ResourceRequest, 'verb'>,
  target: string,
  body: object,
  more: Partial<PlatformRoute> = {},
): PlatformRoute {
  return {
    method: 'POST',
    target: `${target}?${dryRun}`,
    asks: { ...on, verb: 'create' },
    status: [201],
    body,
    ...more,
  };
}

/** A merge patch without a relevant change. */
function patch(
  on: Omit<ResourceRequest, 'verb'>,
  target: string,
  status: number,
  body: object = { metadata: { annotations: { seen: 'yes' } } },
): PlatformRoute {
  return {
    method: 'PATCH',
    target: `${target}?${dryRun}`,
    asks: { ...on, verb: 'patch' },
    status: [status],
    body,
    headers: { 'Content-Type': 'application/merge-patch+json' },
  };
}

function remove(on: Omit<ResourceRequest, 'verb'>, target: string, status: number): PlatformRoute {
  return { method: 'DELETE', target: `${target}?${dryRun}`, asks: { ...on, verb: 'delete' }, status: [status] };
}

/** `one` and `two` exist in each namespace. */
function modelRoutes(plural: string, kind: string, namespace: string | undefined, isThere: boolean): PlatformRoute[] {
  const path = `/apis/${modelGroup}/v1/${namespace === undefined ? '' : `namespaces/${namespace}/`}${plural}`;
  const on = { group: modelGroup, resource: plural, ...(namespace === undefined ? {} : { namespace }) };
  const ok = (status: number): number => (isThere ? status : 404);
  const object = (name: string): object => ({
    apiVersion: `${modelGroup}/v1`,
    kind,
    metadata: { name },
    spec: { size: 1 },
  });
  const one = (name: string, status: number): PlatformRoute[] => [
    { method: 'GET', target: `${path}/${name}`, asks: { ...on, verb: 'get', name }, status: [status] },
    {
      method: 'PUT',
      target: `${path}/${name}?${dryRun}`,
      asks: { ...on, verb: 'update', name },
      status: [status],
      body: object(name),
    },
    patch({ ...on, name }, `${path}/${name}`, status),
    remove({ ...on, name }, `${path}/${name}`, status),
    {
      method: 'GET',
      target: `${path}/${name}/status`,
      asks: { ...on, verb: 'get', subresource: 'status', name },
      status: [status],
    },
    {
      method: 'PUT',
      target: `${path}/${name}/status?${dryRun}`,
      asks: { ...on, verb: 'update', subresource: 'status', name },
      status: [status],
      body: object(name),
    },
    patch({ ...on, subresource: 'status', name }, `${path}/${name}/status`, status, { status: { phase: 'Seen' } }),
  ];
  const named = 'fieldSelector=metadata.name%3Done';
  return [
    { ...list(on, path), status: [ok(200)] },
    { ...list({ ...on, name: 'one' }, `${path}?${named}`), status: [ok(200)] },
    { method: 'GET', target: `${path}?watch=true`, asks: { ...on, verb: 'watch' }, status: [ok(200)], isStream: true },
    {
      method: 'GET',
      target: `${path}?watch=true&${named}`,
      asks: { ...on, verb: 'watch', name: 'one' },
      status: [ok(200)],
      isStream: true,
    },
    create(on, path, object('three'), { status: [ok(201)] }),
    {
      method: 'DELETE',
      target: `${path}?labelSelector=no%3Dsuch&${dryRun}`,
      asks: { ...on, verb: 'deletecollection' },
      status: [ok(200)],
    },
    ...one('one', ok(200)),
    ...one('missing', 404),
  ];
}

function namespaceRoutes(namespace: string): PlatformRoute[] {
  const roles = { group: rbacGroup, resource: 'roles', namespace };
  const bindings = { group: rbacGroup, resource: 'rolebindings', namespace };
  const leases = { group: 'coordination.k8s.io', resource: 'leases', namespace };
  const base = `/apis/${rbacGroup}/v1/namespaces/${namespace}`;
  const of = (name: string): object => ({
    apiVersion: `${rbacGroup}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'matrix-new' },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
    subjects: [],
  });
  const role = (rules: readonly Rule[]): object => ({
    apiVersion: `${rbacGroup}/v1`,
    kind: 'Role',
    metadata: { name: 'matrix-new' },
    rules,
  });
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'LocalSubjectAccessReview',
    metadata: { namespace },
    spec: { user: 'x', resourceAttributes: { namespace, verb: 'get', resource: 'events' } },
  };
  const itself = { group: '', resource: 'namespaces', namespace, name: namespace };
  const quotas = { group: '', resource: 'resourcequotas', namespace };
  const quotasPath = `/api/v1/namespaces/${namespace}/resourcequotas`;
  return [
    // A request for a namespace counts as inside it.
    { method: 'GET', target: `/api/v1/namespaces/${namespace}`, asks: { ...itself, verb: 'get' }, status: [200] },
    patch(itself, `/api/v1/namespaces/${namespace}`, 200),
    list({ group: '', resource: 'events', namespace }, `/api/v1/namespaces/${namespace}/events`),
    list(quotas, quotasPath),
    create(quotas, quotasPath, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'matrix-new' },
      spec: { hard: {} },
    }),
    ...['ConfigMap', 'Secret'].flatMap((kind) => {
      const kept = { group: '', resource: `${kind.toLowerCase()}s`, namespace };
      const path = `/api/v1/namespaces/${namespace}/${kept.resource}`;
      return [list(kept, path), create(kept, path, { apiVersion: 'v1', kind, metadata: { name: 'matrix-new' } })];
    }),
    list(leases, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`),
    create(leases, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'matrix-new' },
      spec: {},
    }),
    list(roles, `${base}/roles`),
    create(roles, `${base}/roles`, role(modest), { grants: { rules: modest, of: 'roles' } }),
    create(roles, `${base}/roles`, role(greedy), { grants: { rules: greedy, of: 'roles' } }),
    remove({ ...roles, name: 'missing' }, `${base}/roles/missing`, 404),
    list(bindings, `${base}/rolebindings`),
    ...['view', 'cluster-admin', 'matrix-1'].map((name) =>
      create(bindings, `${base}/rolebindings`, of(name), { grants: { role: { kind: 'ClusterRole', name } } }),
    ),
    create(
      { group: 'authorization.k8s.io', resource: 'localsubjectaccessreviews', namespace },
      `/apis/authorization.k8s.io/v1/namespaces/${namespace}/localsubjectaccessreviews`,
      review,
    ),
  ];
}

function clusterRoutes(): PlatformRoute[] {
  const definitions = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };
  const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const plugins = { group: 'plugin.svc.run', resource: 'plugins' };
  const views = { group: 'console.svc.run', resource: 'savedviews' };
  const viewsPath = '/apis/console.svc.run/v1alpha1/savedviews';
  const hints = { group: 'console.svc.run', resource: 'formhints' };
  const hintsPath = '/apis/console.svc.run/v1alpha1/formhints';
  const consolePages = { group: 'console.svc.run', resource: 'consolepages' };
  const consolePagesPath = '/apis/console.svc.run/v1alpha1/consolepages';
  const pluginsPath = '/apis/plugin.svc.run/v1alpha1/plugins';
  const roles = { group: rbacGroup, resource: 'clusterroles' };
  const bindings = { group: rbacGroup, resource: 'clusterrolebindings' };
  const base = `/apis/${rbacGroup}/v1`;
  const role = (rules: readonly Rule[]): object => ({
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name: 'matrix-new' },
    rules,
  });
  const of = (name: string): object => ({
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'matrix-new' },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
    subjects: [],
  });
  const leases = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'svc-system' };
  const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases';
  const aggregated = {
    ...role([]),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'matrix.svc.example/part-0': 'true' } }] },
  };
  const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'pat_x' } };
  return [
    list(definitions, definitionsPath),
    {
      method: 'GET',
      target: `${definitionsPath}/widgets.${modelGroup}`,
      asks: { ...definitions, verb: 'get', name: `widgets.${modelGroup}` },
      status: [200],
    },
    create(definitions, definitionsPath, definitionOf({ kind: 'Gizmo', plural: 'gizmos', scope: 'Cluster' })),
    patch({ ...definitions, name: `widgets.${modelGroup}` }, `${definitionsPath}/widgets.${modelGroup}`, 200),
    remove({ ...definitions, name: `widgets.${modelGroup}` }, `${definitionsPath}/widgets.${modelGroup}`, 200),
    list({ group: '', resource: 'namespaces' }, '/api/v1/namespaces'),
    create({ group: '', resource: 'namespaces' }, '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'matrix-new' },
    }),
    list({ group: '', resource: 'events' }, '/api/v1/events'),
    list(leases, leasesPath),
    create(
      leases,
      leasesPath,
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'svc-apiserver-matrix' }, spec: {} },
      { grants: { anybody: true } },
    ),
    list(views, viewsPath),
    create(views, viewsPath, {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'SavedView',
      metadata: { name: 'matrix-new' },
      spec: { title: 'New', model: `widgets.${modelGroup}` },
    }),
    remove({ ...views, name: 'missing' }, `${viewsPath}/missing`, 404),
    list(hints, hintsPath),
    create(hints, hintsPath, {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'FormHint',
      metadata: { name: 'matrix-new' },
      spec: { model: `widgets.${modelGroup}`, fields: [] },
    }),
    remove({ ...hints, name: 'missing' }, `${hintsPath}/missing`, 404),
    list(consolePages, consolePagesPath),
    create(consolePages, consolePagesPath, {
      apiVersion: 'console.svc.run/v1alpha1',
      kind: 'ConsolePage',
      metadata: { name: 'matrix-new' },
      spec: { title: 'New', frame: { file: 'new.html' } },
    }),
    remove({ ...consolePages, name: 'missing' }, `${consolePagesPath}/missing`, 404),
    list(plugins, pluginsPath),
    {
      method: 'GET',
      target: `${pluginsPath}/nothing`,
      asks: { ...plugins, verb: 'get', name: 'nothing' },
      status: [404],
    },
    patch({ ...plugins, name: 'nothing' }, `${pluginsPath}/nothing`, 404, { spec: { enabled: true } }),
    patch({ ...plugins, subresource: 'status', name: 'nothing' }, `${pluginsPath}/nothing/status`, 404, { status: {} }),
    {
      // A stream opens, whatever its subscriptions may.
      method: 'POST',
      target: '/apis/stream.svc.run/v1alpha1/streams',
      asks: { group: 'stream.svc.run', resource: 'streams', verb: 'create' },
      status: [200],
      isStream: true,
      body: { subscriptions: [{ id: 'widgets', group: modelGroup, version: 'v1', resource: 'widgets' }] },
    },
    list(roles, `${base}/clusterroles`),
    {
      method: 'GET',
      target: `${base}/clusterroles/view`,
      asks: { ...roles, verb: 'get', name: 'view' },
      status: [200],
    },
    create(roles, `${base}/clusterroles`, role(modest), { grants: { rules: modest, of: 'clusterroles' } }),
    create(roles, `${base}/clusterroles`, role(greedy), { grants: { rules: greedy, of: 'clusterroles' } }),
    create(roles, `${base}/clusterroles`, aggregated, { grants: { rules: everything, of: 'clusterroles' } }),
    {
      ...patch({ ...roles, name: 'matrix-of-no-rules' }, `${base}/clusterroles/matrix-of-no-rules`, 200, {
        rules: greedy,
      }),
      grants: { rules: greedy, of: 'clusterroles' },
    },
    remove({ ...roles, name: 'matrix-of-no-rules' }, `${base}/clusterroles/matrix-of-no-rules`, 200),
    list(bindings, `${base}/clusterrolebindings`),
    ...['view', 'cluster-admin', 'matrix-1'].map((name) =>
      create(bindings, `${base}/clusterrolebindings`, of(name), { grants: { role: { kind: 'ClusterRole', name } } }),
    ),
    {
      method: 'POST',
      target: '/apis/authentication.k8s.io/v1/tokenreviews',
      asks: { group: 'authentication.k8s.io', resource: 'tokenreviews', verb: 'create' },
      status: [201],
      body: token,
    },
    { ...list({ group: 'nosuch.example', resource: 'things' }, '/apis/nosuch.example/v1/things'), status: [404] },
  ];
}

/** Other users' tokens are always 404; the own ones are listed. */
function tokenRoutes(): PlatformRoute[] {
  const path = `/apis/${tokens.group}/v1alpha1/personalaccesstokens`;
  const name = 'matrix-of-another';
  const routes: PlatformRoute[] = [
    list(tokens, path),
    {
      method: 'POST',
      target: path,
      asks: { ...tokens, verb: 'create' },
      status: [400],
      body: { spec: {} },
      headers: { 'Idempotency-Key': 'matrix' },
    },
    // Created once, and kept.
    ...['cluster-admin', 'view', 'edit', 'matrix-1', 'svc:personal-tokens'].map((role): PlatformRoute => {
      const body = { metadata: { name: `matrix-of-${role.replace(':', '-')}` }, spec: { roles: [role] } };
      return {
        method: 'POST',
        target: path,
        asks: { ...tokens, verb: 'create' },
        status: [201, 409],
        body,
        narrowsTo: role,
      };
    }),
    { method: 'GET', target: `${path}/${name}`, asks: { ...tokens, verb: 'get', name }, status: [404] },
    ...['revocation', 'restoration'].map((action): PlatformRoute => ({
      method: 'PUT',
      target: `${path}/${name}/actions/${action}`,
      asks: { ...tokens, verb: 'update', subresource: 'actions', name },
      status: [404],
    })),
    { method: 'DELETE', target: `${path}/${name}`, asks: { ...tokens, verb: 'delete', name }, status: [404] },
  ];
  return routes.map((route) => ({ ...route, isForOneself: true }));
}

/** Endpoints of a plugin: only those mounted for the public are open. */
function endpointRoutes(): PlatformRoute[] {
  const at = (audience: Parameters<typeof audienceGroup>[0]): string => `/apis/${audienceGroup(audience)}/v1`;
  return [
    { method: 'GET', target: `${at('public')}/open`, asks: 'open', status: [200] },
    {
      method: 'GET',
      target: `${at('public')}/closed`,
      asks: { verb: 'list', group: audienceGroup('public'), resource: 'closed' },
      status: [404],
    },
    {
      method: 'GET',
      target: `${at('public')}/open/below`,
      asks: { verb: 'get', group: audienceGroup('public'), resource: 'open', name: 'below' },
      status: [404],
    },
    {
      method: 'GET',
      target: `${at('console')}/stats`,
      asks: { verb: 'list', group: audienceGroup('console'), resource: 'stats' },
      status: [200],
    },
    {
      method: 'PUT',
      target: `${at('console')}/notes/one`,
      asks: { verb: 'update', group: audienceGroup('console'), resource: 'notes', name: 'one' },
      status: [200],
    },
    {
      method: 'POST',
      target: `${at('uc')}/notes/one/marks`,
      asks: { verb: 'create', group: audienceGroup('uc'), resource: 'notes', subresource: 'marks', name: 'one' },
      status: [200],
    },
  ];
}

function pathRoutes(): PlatformRoute[] {
  const get = (
    path: string,
    asks: Attributes | 'open' | 'probe' = { verb: 'get', path },
    status = 200,
  ): PlatformRoute => ({ method: 'GET', target: path, asks, status: [status] });
  const documents = ['console', 'uc', 'extension', 'aggregated'].map((name) => `/docs/openapi/${name}.json`);
  return [
    ...['/livez', '/readyz', '/healthz', '/version'].map((path) => get(path, 'probe')),
    ...['/docs', '/docs/openapi/public.json'].map((path) => get(path, 'open')),
    ...[
      '/api',
      '/api/v1',
      '/apis',
      `/apis/${modelGroup}`,
      `/apis/${modelGroup}/v1`,
      '/openapi/v3',
      ...documents,
      '/metrics',
      '/debug/flags/log-level',
    ].map((path) => get(path)),
    get('/apis/audit.k8s.io/v1/events?limit=1', { verb: 'list', group: 'audit.k8s.io', resource: 'events' }),
    get('/matrix/nothing', undefined, 404),
  ];
}
