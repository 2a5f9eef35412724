/**
 * What a plugin is made of. Models: declared in code with TypeBox schemas, registered through the API as definitions; and TypeScript written
 * from models that somebody else declared.
 */
export { Type, type Static, type TObject, type TSchema } from 'typebox';
export * from './model/define-model.ts';
export { registerModel, type RegisterOptions } from './model/register-model.ts';
export { unregisterModel, type UnregisterOptions } from './model/unregister-model.ts';
export { computedIndex, index, multiIndex, type ComputedIndexOptions, type IndexOptions, type ModelIndex, type MultiIndexOptions } from './model/model-index.ts';
export * from './definition/define-plugin.ts';
export * from './definition/endpoint-definition.ts';
export { generateTypes, type GenerateOptions } from './generate/generate-types.ts';
export { readPresets } from './preset/read-presets.ts';
export { PresetReconciler, type ApplyPresets, type PresetReconcilerOptions, type RemovePresets } from './preset/preset-reconciler.ts';
export type { PresetObject } from './preset/preset-object.ts';
export type { LeftPreset } from './preset/removal-run.ts';
export { bundleIndexKeys } from './bundle/bundle-index-keys.ts';
export type { EndpointCall, EndpointHost, EndpointResult } from './endpoint/endpoint-call.ts';
export { loadPluginEndpoints } from './endpoint/load-plugin-endpoints.ts';
export type { ServedModels } from './endpoint/model-path.ts';
export { PluginHost, type PluginHostOptions } from './host/plugin-host.ts';
export type { PluginObserver } from './host/host-turn.ts';
export { isPluginError, PluginError } from './plugin-error.ts';
export { checkRequires } from './manifest/check-requires.ts';
export { readManifest } from './manifest/read-manifest.ts';
export { resolveDependencies, type DependencyResolution, type DependentPlugin } from './manifest/resolve-dependencies.ts';
export type { PluginManifest } from './manifest/manifest.ts';
export { bundlePlugin, type BundleOptions, type PluginBundle } from './bundle/bundle-plugin.ts';
export { fingerprintOf } from './bundle/fingerprint.ts';
export { PluginWorker, type PluginCrash, type PluginDescription, type PluginWorkerOptions } from './worker/plugin-worker.ts';
export { threadCount } from './worker/worker-thread.ts';
