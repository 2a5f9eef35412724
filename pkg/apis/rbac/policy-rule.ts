export const rbacGroup = 'rbac.authorization.k8s.io';

/**
 * Allows any of the verbs on any of the resources in any of the groups, or on any of the paths; `*` means all. A rule
 * never denies. Source: rbac.authorization.k8s.io/v1 PolicyRule.
 */
export interface PolicyRule {
  verbs: string[];
  /** '' is the core group. */
  apiGroups?: string[];
  /**
   * `posts`, `posts/status`; `*` is all resources with their subresources, `*` followed by `/status` that subresource
   * of all.
   */
  resources?: string[];
  /**
   * Only objects with these names; empty: any name. Requests without a name (create, deletecollection, most lists) are
   * never allowed by names.
   */
  resourceNames?: string[];
  /**
   * Paths outside of resources; with a `*` at the end all paths with that prefix. Only in rules of their own, and only
   * in ClusterRoles.
   */
  nonResourceURLs?: string[];
}

/** The rules that allow everything. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
