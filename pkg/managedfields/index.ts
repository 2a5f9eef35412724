/**
 * Managed fields: who set which field of an object, and server-side apply, which merges by that. Pure functions of the
 * live object, the configuration and the entries of `metadata.managedFields`; the caller defaults, validates and stores
 * the result.
 */
export { FieldManager } from './manager/field-manager.ts';
export type { FieldApplyOptions, ApplyResult, FieldManagerOptions, UpdateOptions } from './manager/field-manager.ts';
export type { ManagedFieldsEntry, ManagedFieldsOperation } from './manager/managed-fields-entry.ts';
export type { ResetFields } from './manager/reset-fields.ts';
export { ScaleHandler, newScaleSchema, type ScaleHandlerOptions } from './manager/scale-handler.ts';
export { ConversionNeeded, type ConvertObject } from './merge/managers.ts';
export { newTypeSchema, type TypeSchema } from './typed/type-schema.ts';
export { TypedError } from './typed/typed-error.ts';
