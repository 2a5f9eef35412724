/**
 * The content platform's API: the served models, the semantics of each verb, the delivery of changes to watchers, and
 * the server.
 */
export {
  ApiServer,
  type ApiHttpOptions,
  type ApiParts,
  type ApiServerOptions,
  type MountedService,
} from './api-server.ts';
export { auditDocument } from './audit-endpoint/audit-document.ts';
export { auditEndpoint } from './audit-endpoint/audit-endpoint.ts';
export { Auditor } from './audit/auditor.ts';
export type { AuditOutput } from './audit/request-audit.ts';
export { MastersAuthorizer } from './authorization/rbac-authorizer.ts';
export { RbacAuthorizer, type RbacAuthorizerOptions } from './authorization/rbac-authorizer.ts';
export { RoleIndex } from './authorization/role-index.ts';
export { webhookOutcomes, type WebhookObserver } from './conversion/conversion-webhook.ts';
export { consoleEndpoints } from './console/console-endpoints.ts';
export { ConsoleFolder } from './console/console-files.ts';
export { defaultHandlerOptions, type HandlerOptions } from './handlers/options/handler-options.ts';
export { KeyWorker, type KeyWorkerOptions } from './keys/key-worker.ts';
export { LoopbackClient, type LoopbackClientOptions } from './loopback/loopback-client.ts';
export { Maintenance } from './maintenance/maintenance.ts';
export type { WatchObserver } from './informer-bus/watch-observer.ts';
export { documentEndpoints } from './openapi/document-endpoints.ts';
export type { EndpointDocument, EndpointDocuments } from './openapi/endpoint-documents.ts';
export * from './registry/index.ts';
export type { Sealer } from './rest/sealer.ts';
export { streamDocument } from './stream/stream-document.ts';
export { isWebhookHost } from './webhook/webhook-policy.ts';
