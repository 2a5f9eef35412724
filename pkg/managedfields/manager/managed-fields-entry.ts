import type { JsonObject } from '#pkg/apimachinery/index';

export type ManagedFieldsOperation = 'Apply' | 'Update';

/**
 * The fields of an object that one manager set in one way. Source: `metav1.ManagedFieldsEntry`. A type alias, because
 * an interface is not assignable to `JsonObject`.
 */
export type ManagedFieldsEntry = {
  manager: string;
  operation: ManagedFieldsOperation;
  /** The version in whose schema `fieldsV1` is written. */
  apiVersion: string;
  /** RFC 3339, UTC, whole seconds: when the set last changed. */
  time?: string;
  fieldsType: 'FieldsV1';
  fieldsV1: JsonObject;
  subresource?: string;
};
