/** Any JSON value, as `JSON.parse` returns it. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** The data every object carries. Source: the Kubernetes API conventions, "Metadata". */
export interface ObjectMeta {
  name: string;
  /** Prefix of a name that the server generates, used on create if `name` is absent. */
  generateName?: string;
  /** Absent on cluster-scoped objects. */
  namespace?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  uid?: string;
  /** Decimal string; one strictly increasing sequence over all models. Opaque to clients. */
  resourceVersion?: string;
  /** Increased by one at every change outside metadata (and outside status, if that is a subresource). */
  generation?: number;
  /** RFC 3339, UTC, whole seconds; so is `deletionTimestamp`. */
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: JsonObject[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** One object of a model, as the API reads and returns it. */
export interface ApiObject<Spec = JsonValue, Status = JsonValue> {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Spec;
  status?: Status;
}

/** A statement about one aspect of an object's state. Source: `metav1.Condition`. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  /** RFC 3339; when `status` last changed. */
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** Where an object lives inside its model: `namespace` is '' for a cluster-scoped one. */
export interface ObjectKey {
  namespace: string;
  name: string;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Blocks the deletion of an owner until its dependents are deleted. Source, as of the others:
 * `metav1.FinalizerDeleteDependents`.
 */
export const foregroundFinalizer = 'foregroundDeletion';
/** Blocks the deletion of an owner until its dependents no longer reference it. */
export const orphanFinalizer = 'orphan';
/** Blocks the deletion of a namespace until it is empty. */
export const namespaceFinalizer = 'kubernetes';
