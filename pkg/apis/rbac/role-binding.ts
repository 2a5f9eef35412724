import type { AnyObject, ObjectMeta, ResourceType } from '#pkg/apimachinery/index';
import { rbacGroup } from './policy-rule.ts';

/** A subject that a binding grants a role to. Source: rbac.authorization.k8s.io/v1 Subject. */
export interface Subject {
  kind: 'User' | 'Group' | 'ServiceAccount';
  /** For users and groups `rbac.authorization.k8s.io`, the default; for service accounts ''. */
  apiGroup?: string;
  name: string;
  /** For a service account. */
  namespace?: string;
}

/** The role that a binding grants; it never changes. */
export interface RoleRef {
  apiGroup: string;
  kind: 'Role' | 'ClusterRole';
  name: string;
}

/**
 * Grants a role of its namespace, or a ClusterRole, within its namespace. Source: rbac.authorization.k8s.io/v1
 * RoleBinding.
 */
export interface RoleBinding extends AnyObject {
  metadata: ObjectMeta;
  roleRef: RoleRef;
  subjects?: Subject[];
}

/** Grants a ClusterRole in all namespaces. Source: rbac.authorization.k8s.io/v1 ClusterRoleBinding. */
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

/** The user name of a service account. Source: k8s.io/apiserver/pkg/authentication/serviceaccount. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
