export const rbacGroup = 'rbac.authorization.k8s.io';

/**
 * What may be done to what: any of the verbs, to any of the resources in any of the groups, or to any of the paths; `*`
 * is all of them. A rule only ever allows. Source: rbac.authorization.k8s.io/v1 PolicyRule.
 */
export interface PolicyRule {
  verbs: string[];
  /** '' is the core group. */
  apiGroups?: string[];
  /** `posts`, `posts/status`; `*` is all with their subresources, `*` before `/status` that subresource of all. */
  resources?: string[];
  /**
   * Only objects of these names; none: whatever the name. What names no object (create, deletecollection, most lists)
   * is never allowed by names.
   */
  resourceNames?: string[];
  /**
   * Paths that are no resources: as they are, or all that begin with what stands before a `*` at the end. In a rule of
   * their own, in ClusterRoles alone.
   */
  nonResourceURLs?: string[];
}

/** The rules that allow everything. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];
