/**
 * The audit policy of the content platform, as kube-apiserver's users know it: at which level each request is recorded,
 * and the form of the record (audit.k8s.io/v1). No I/O.
 */
export * from './audit-event.ts';
export * from './audit-level.ts';
export type * from './audit-log.ts';
export * from './audit-policy.ts';
export * from './audit-stage.ts';
export { AuditPolicyError } from './audit-policy-error.ts';
export { defaultPolicyText } from './default-policy.ts';
export { printable } from './printable.ts';
export * from './search-log.ts';
