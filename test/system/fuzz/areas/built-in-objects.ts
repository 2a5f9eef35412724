import type { JsonObject } from '#pkg/apimachinery/index';
import { configMapModel, leaseModel, namespaceModel, roleBindingModel, roleModel, secretModel } from '#pkg/apis/index';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';

const core = '/api/v1/namespaces/default';
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';

/** Kinds of Kubernetes that take every form of body, and their collections. */
export const builtInKinds = [
  { model: configMapModel, path: `${core}/configmaps` },
  { model: secretModel, path: `${core}/secrets` },
  { model: leaseModel, path: '/apis/coordination.k8s.io/v1/namespaces/default/leases' },
  { model: roleModel, path: `${rbac}/roles` },
] as const;

/** Those, and kinds with other lists. */
export const moreKinds = [
  ...builtInKinds,
  { model: roleBindingModel, path: `${rbac}/rolebindings` },
  { model: namespaceModel, path: '/api/v1/namespaces' },
] as const;

export type BuiltInKind = (typeof moreKinds)[number];

/** An object that has something in each field of metadata that clients set. */
export function builtInObject({ model: { group, names } }: BuiltInKind, name: string): JsonObject {
  return {
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    kind: names.kind,
    metadata: { name, labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['example.com/e'] },
    data: { f: 'Zw==' },
    spec: { holderIdentity: 'h', leaseTransitions: 1, renewTime: '2026-01-01T00:00:00.000001Z' },
    rules: [],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'f0' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' }],
  };
}

export function createBuiltIn(kind: BuiltInKind, name: string): WireRequest {
  const { data, rules, roleRef, subjects, ...head } = builtInObject(kind, name);
  const bodies: Record<string, JsonObject> = {
    ConfigMap: { ...head, data: data! },
    Secret: { ...head, data: data! },
    Role: { ...head, rules: rules! },
    RoleBinding: { ...head, roleRef: roleRef!, subjects: subjects! },
    Namespace: { ...head, spec: {} },
  };
  return json('POST', kind.path, bodies[kind.model.names.kind] ?? head);
}

export function typed(request: WireRequest, type: string): WireRequest {
  return {
    ...request,
    headers: [['Content-Type', type], ...request.headers.filter(([name]) => name !== 'Content-Type')],
  };
}

/** One of the kinds. */
export function pickKind<T extends BuiltInKind>(random: SeededRandom, kinds: readonly T[]): T {
  return random.pick(kinds);
}
