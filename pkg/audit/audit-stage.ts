/**
 * The stages at which an event may be recorded: before the handler runs; after the head of a long response, such as a
 * watch; after the response; after an unexpected error. Source: audit.k8s.io/v1 Stage.
 */
export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;

export type AuditStage = (typeof auditStages)[number];
