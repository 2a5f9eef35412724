/**
 * The registry: which models are served, and the REST semantics of each. A request's verb is one method of
 * ResourceStorage, in a file of its own; what a kind does differently is its Strategy. Nothing here knows HTTP.
 */
export { createPlatformRegistry, type PlatformRegistry, type PlatformRegistryOptions } from './platform-registry.ts';
export * from '../rest/served-resource.ts';
