/**
 * The API for plugin authors: models in code, controllers, endpoints. Also: TypeScript generated from existing models,
 * and the host that runs plugins.
 */
export { Type, type Static, type TObject, type TSchema } from 'typebox';
export * from './model/define-model.ts';
export { registerModel, type RegisterModelOptions } from './model/register-model.ts';
export { unregisterModel, type UnregisterModelOptions } from './model/unregister-model.ts';
export {
  computedIndex,
  index,
  multiIndex,
  type ComputedIndexOptions,
  type IndexOptions,
  type ModelIndex,
  type MultiIndexOptions,
} from './model/model-index.ts';
export * from './definition/define-plugin.ts';
export * from './definition/endpoint-definition.ts';
export { generateTypes, type GenerateTypesOptions } from './generate/generate-types.ts';
export type { TypesTarget } from './generate/model-text.ts';
export { bundleIndexKeys } from './bundle/bundle-index-keys.ts';
export { loadPluginEndpoints } from './endpoint/load-plugin-endpoints.ts';
export type { EndpointHost } from './endpoint/endpoint-call.ts';
export type { Forwarder } from './endpoint/forwarder.ts';
export type { ServedModels } from './endpoint/model-path.ts';
export { findPluginFolders } from './host/folder/read-plugin-name.ts';
export { PluginHost, type PluginHostOptions } from './host/plugin-host.ts';
export { readPluginFiles } from './pages/read-plugin-files.ts';
export type { PluginObserver } from './host/hosted-plugins.ts';
export { threadCount } from './worker/worker-thread.ts';
