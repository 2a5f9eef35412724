import type { AnyObject, ObjectMeta, ResourceType } from '#pkg/apimachinery/index';
import { rbacGroup, type PolicyRule } from './policy-rule.ts';

/** Rules that apply in the namespace of the role. Source: rbac.authorization.k8s.io/v1 Role. */
export interface Role extends AnyObject {
  metadata: ObjectMeta;
  rules?: PolicyRule[];
}

/**
 * Rules that apply everywhere, or where a RoleBinding grants them. Source: rbac.authorization.k8s.io/v1 ClusterRole.
 */
export interface ClusterRole extends AnyObject {
  metadata: ObjectMeta;
  /** With an aggregation rule the platform writes them, only for people to read: authorization ignores them. */
  rules?: PolicyRule[];
  aggregationRule?: AggregationRule;
}

/** The role has the rules of every other ClusterRole that one of the selectors matches. */
export interface AggregationRule {
  clusterRoleSelectors?: RoleSelector[];
}

/** All parts must match; an empty one matches everything. Source: meta/v1 LabelSelector. */
export interface RoleSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** Roles as a client names them. */
export const roleType: ResourceType<Role> = {
  group: rbacGroup,
  version: 'v1',
  kind: 'Role',
  plural: 'roles',
  namespaced: true,
  hasStatusSubresource: false,
};
export const clusterRoleType: ResourceType<ClusterRole> = {
  group: rbacGroup,
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
  hasStatusSubresource: false,
};
