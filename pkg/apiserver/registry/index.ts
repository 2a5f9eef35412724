/**
 * The registry: the served models, and the REST semantics of each. Each verb is one method of ResourceStorage, in its
 * own file; a kind's deviations are in its Strategy. The registry does not know HTTP.
 */
export { createPlatformRegistry, type PlatformRegistry, type PlatformRegistryOptions } from './platform-registry.ts';
export { ObjectSealing } from './model/object-sealing.ts';
export * from '../rest/served-resource.ts';
