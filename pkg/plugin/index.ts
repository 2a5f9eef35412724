/**
 * What a plugin is made of. Models: declared in code with TypeBox schemas, registered through the API as definitions; and TypeScript written
 * from models that somebody else declared.
 */
export { Type, type Static, type TObject, type TSchema } from 'typebox';
export * from './model/define-model.ts';
export { registerModel, type RegisterOptions } from './model/register-model.ts';
export { index, multiIndex, type IndexOptions, type ModelIndex, type MultiIndexOptions } from './model/model-index.ts';
export * from './definition/define-plugin.ts';
export * from './definition/endpoint-definition.ts';
export { generateTypes, type GenerateOptions } from './generate/generate-types.ts';
