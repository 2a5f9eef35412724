/**
 * The endpoints of plugins over HTTP: mounted by every API server as the status of their plugins says, run by the one
 * process that hosts them, and signed on the way from the one to the other. Apart from the rest of the wing, as it
 * needs a web server.
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
