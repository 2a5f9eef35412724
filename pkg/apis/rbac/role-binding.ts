import type { AnyObject, ObjectMeta, ResourceType } from '#pkg/apimachinery/index';
import { rbacGroup } from './policy-rule.ts';

/** Whom a binding gives a role. Source: rbac.authorization.k8s.io/v1 Subject. */
export interface Subject {
  kind: 'User' | 'Group' | 'ServiceAccount';
  /** Of users and groups `rbac.authorization.k8s.io`, which is the default; of service accounts ''. */
  apiGroup?: string;
  name: string;
  /** Of a service account. */
  namespace?: string;
}

/** The role that a binding gives; it never changes. */
export interface RoleRef {
  apiGroup: string;
  kind: 'Role' | 'ClusterRole';
  name: string;
}

/**
 * Gives a role of its namespace, or a ClusterRole, within its namespace. Source: rbac.authorization.k8s.io/v1
 * RoleBinding.
 */
export interface RoleBinding extends AnyObject {
  metadata: ObjectMeta;
  roleRef: RoleRef;
  subjects?: Subject[];
}

/** Gives a ClusterRole everywhere. Source: rbac.authorization.k8s.io/v1 ClusterRoleBinding. */
export interface ClusterRoleBinding extends AnyObject {
  metadata: ObjectMeta;
  roleRef: RoleRef;
  subjects?: Subject[];
}

/** Bindings as a client names them. */
export const roleBindingType: ResourceType<RoleBinding> = {
  group: rbacGroup,
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
  hasStatusSubresource: false,
};
export const clusterRoleBindingType: ResourceType<ClusterRoleBinding> = {
  group: rbacGroup,
  version: 'v1',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
  hasStatusSubresource: false,
};

/** The user that a service account is. Source: k8s.io/apiserver/pkg/authentication/serviceaccount. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
