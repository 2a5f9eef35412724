/**
 * Managed fields: who set which field of an object, and server-side apply, which merges by that. Pure functions of the
 * live object, the configuration and the entries of `metadata.managedFields`; the caller defaults, validates and stores
 * the result.
 */
export { ApplyConflict } from './manager/apply-conflict.ts';
export { FieldManager } from './manager/field-manager.ts';
export type { ApplyOptions, ApplyResult, FieldManagerOptions, UpdateOptions } from './manager/field-manager.ts';
export type { ManagedFieldsEntry, ManagedFieldsOperation } from './manager/managed-fields-entry.ts';
export type { ResetFields } from './manager/reset-fields.ts';
export { ScaleHandler, newScaleSchema, type ScaleHandlerOptions } from './manager/scale-handler.ts';
export { newTypeSchema, type TypeSchema } from './typed/type-schema.ts';
export { TypedError } from './typed/typed-error.ts';
