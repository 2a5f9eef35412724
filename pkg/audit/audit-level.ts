/** How much of a request is recorded, from nothing to everything. Source: audit.k8s.io/v1 Level. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;

export type AuditLevel = (typeof auditLevels)[number];

export function isAtLeast(level: AuditLevel, wanted: AuditLevel): boolean {
  return auditLevels.indexOf(level) >= auditLevels.indexOf(wanted);
}
