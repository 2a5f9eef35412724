/**
 * The endpoints of plugins over HTTP. Every API server mounts them as the plugins' status says, one process runs them,
 * and requests between the two are signed. Kept apart from the rest of the package, because it needs a web server.
 */
export type * from './endpoint-call.ts';
export { findEndpointConflicts, type EndpointConflict, type EndpointsOfPlugin } from './find-endpoint-conflicts.ts';
export { endpointViolation } from './endpoint-violation.ts';
export type { Forwarder } from './forwarder.ts';
export { hostEndpoints, type HostEndpointsOptions } from './host-endpoints.ts';
export { HttpForwarder, type HttpForwarderOptions } from './http-forwarder.ts';
export type { ServedModels } from './model-path.ts';
export { PluginEndpoints, type PluginEndpointsOptions } from './plugin-endpoints.ts';
export { CallVerifier } from './signature/call-verifier.ts';
export { ServerIdentity, type CallSigner, type ServerIdentityOptions } from './signature/server-identity.ts';
export { ServerKeys } from './signature/server-keys.ts';
