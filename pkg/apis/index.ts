/**
 * Built-in models as data, and pure functions for definitions of further ones: defaults, validation, names, status, and
 * the conversion to a Model. One folder per API group, one file per kind. No I/O; apiserver and controllers store and
 * serve them.
 */
export * from './apiextensions/api-approval.ts';
export * from './apiextensions/default-definition.ts';
export * from './apiextensions/definition.ts';
export * from './apiextensions/definition-shape.ts';
export * from './apiextensions/definition-status.ts';
export * from './apiextensions/definition-model.ts';
export * from './apiextensions/model-from-definition.ts';
export * from './apiextensions/names.ts';
export { certificatesIn } from './apiextensions/validate-conversion.ts';
export * from './apiextensions/validate-definition.ts';
export type { StructuralSchemaCheck } from './apiextensions/validate-versions.ts';
export * from './apiextensions/version-priority.ts';
export * from './builtin-models.ts';
export * from './console/console-page.ts';
export * from './console/console-page-model.ts';
export * from './console/saved-view-model.ts';
export * from './console/form-hint-model.ts';
export * from './coordination/lease-model.ts';
export * from './core/config-map.ts';
export * from './core/config-map-model.ts';
export * from './core/event-model.ts';
export * from './core/namespace-model.ts';
export * from './core/resource-quota.ts';
export * from './core/resource-quota-model.ts';
export * from './core/secret.ts';
export * from './core/secret-model.ts';
export * from './meta/condition.ts';
export * from './plugin/plugin-model.ts';
export * from './plugin/plugin.ts';
export * from './rbac/policy-rule.ts';
export * from './rbac/role.ts';
export * from './rbac/role-binding.ts';
export * from './rbac/role-binding-model.ts';
export * from './rbac/role-model.ts';
export * from './rbac/validate-role.ts';
export * from './rbac/validate-role-binding.ts';
export * from './reviews/review-models.ts';
export * from './stream/stream-model.ts';
