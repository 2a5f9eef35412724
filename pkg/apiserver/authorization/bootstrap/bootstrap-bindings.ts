import { systemNamespace } from '#pkg/apis/index';
import { systemAccessServers, systemAuthenticated, systemControllers, systemMasters } from '#pkg/identity/index';

/** A binding that every server ensures: it exists and grants the role at least to the group. */
export interface BootstrapBinding {
  name: string;
  /** For a RoleBinding to a Role; absent for a ClusterRoleBinding. */
  namespace?: string;
  role: string;
  group: string;
}

export const bootstrapBindings: readonly BootstrapBinding[] = [
  { name: 'cluster-admin', role: 'cluster-admin', group: systemMasters },
  { name: 'system:basic-user', role: 'system:basic-user', group: systemAuthenticated },
  { name: 'system:discovery', role: 'system:discovery', group: systemAuthenticated },
  { name: 'svc:personal-tokens', role: 'svc:personal-tokens', group: systemAuthenticated },
  { name: 'svc:system-auditors', role: 'view', group: 'svc:system-auditors' },
  { name: 'svc:system-auditors:audit', role: 'system:auditor', group: 'svc:system-auditors' },
  { name: 'system:controllers', role: 'system:controllers', group: systemControllers },
  { name: 'system:access-servers', role: 'system:access-servers', group: systemAccessServers },
  { name: 'system:plugins', role: 'system:plugins', group: 'system:plugins' },
  { name: 'system:plugins', namespace: systemNamespace, role: 'system:plugins', group: 'system:plugins' },
];
