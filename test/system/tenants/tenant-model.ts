import type { ApiServer } from '../harness/process/api-server.ts';

export const group = 'tenants.svc.example';
export const plural = 'documents';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** A user in the namespace of the same name. */
export interface Tenant {
  port: number;
  /** The header's value. */
  authorization: string;
  namespace: string;
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, singular: 'document', kind: 'Document' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  title: { type: 'string' },
                  text: { type: 'string' },
                  parts: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
                },
              },
            },
          },
        },
      },
    ],
  },
};

export function collectionOf(namespace: string): string {
  return `/apis/${group}/v1/namespaces/${namespace}/${plural}`;
}

/** A document as a client sends it; the spec may have any size or number of parts. */
export function documentOf(name: string, spec: object): object {
  return { apiVersion: `${group}/v1`, kind: 'Document', metadata: { name }, spec };
}

export function leasesOf(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

export function leaseOf(name: string, resourceVersion?: string): object {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: { holderIdentity: name, leaseDurationSeconds: 15, renewTime: new Date().toISOString().replace('Z', '000Z') },
  };
}

/** Creates the model, and for each user a namespace in which only they have permissions: for documents and leases. */
export async function prepareTenants(api: ApiServer, users: readonly string[]): Promise<void> {
  const post = (path: string, body: object): Promise<string> =>
    api.fetch(path, { method: 'POST', body: JSON.stringify(body) });
  await post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  for (const user of users) {
    await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: user } });
    const metadata = { name: 'tenant', namespace: user };
    await post(`${rbac}/namespaces/${user}/roles`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata,
      rules: [
        { apiGroups: [group], resources: ['*'], verbs: ['*'] },
        { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] },
      ],
    });
    await post(`${rbac}/namespaces/${user}/rolebindings`, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'tenant' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
    await api.untilServed(`${collectionOf(user)}?limit=1`);
  }
}
