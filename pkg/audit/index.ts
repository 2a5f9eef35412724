/**
 * The audit as kube-apiserver's users know it: the policy that decides at which level a request is recorded, the form of
 * an event (audit.k8s.io/v1), and the contract of a log. No I/O.
 */
export * from './audit-event.ts';
export * from './audit-level.ts';
export type * from './audit-log.ts';
export * from './audit-policy.ts';
export * from './audit-stage.ts';
export { completeEvent } from './complete-event.ts';
export { AuditPolicyError } from './audit-policy-error.ts';
export { defaultPolicyText } from './default-policy.ts';
export { printable } from './printable.ts';
export * from './search-log.ts';
