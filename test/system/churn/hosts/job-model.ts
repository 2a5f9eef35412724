import { defineModel, Type } from '../../../../pkg/index.ts';

/** One object for each controller: it says which number the controller has handled, in which term. */
export const Job = defineModel({
  group: 'churn.example.com',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  singular: 'job',
  spec: Type.Object({ number: Type.Integer() }),
  status: Type.Object({
    handled: Type.Optional(Type.Integer()),
    host: Type.Optional(Type.String()),
    term: Type.Optional(Type.Integer()),
  }),
});

/** The lease that the hosts hold together. */
export const leaseGroup = 'churn';
/** Quick, so that a dead host is replaced in seconds. Milliseconds. */
export const leaseTimes = { durationMs: 4000, deadlineMs: 3000, retryMs: 1000, settleMs: 1000 };

export function jobName(controller: number): string {
  return `job-${controller}`;
}
