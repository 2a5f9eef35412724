import type { GroupResource } from '#pkg/apimachinery/index';

/** A hard limit, and the quota that sets it. */
export interface QuotaLimit {
  max: number;
  quota: string;
}

/** What the objects of a namespace may take. */
export interface QuotaLimits {
  /** Absent: the objects of all models, except quotas themselves. */
  resource?: GroupResource;
  /** Number of objects. */
  count?: QuotaLimit;
  /** Bytes of their JSON, as stored. */
  bytes?: QuotaLimit;
}

/** A limit of a namespace, and what its objects take now. */
export interface QuotaUsage {
  limits: QuotaLimits;
  count: number;
  bytes: number;
  /** False until the objects that were there before the limit are counted: until then the limit refuses nothing. */
  isCounted: boolean;
  /** `count` is to be called. */
  mustCount: boolean;
}

/**
 * Limits of namespaces. A write that would pass one fails with StorageError QuotaExceeded; updates that shrink an object
 * or mark it for deletion, and deletions, always pass.
 */
export interface Quotas {
  /**
   * Replaces the limits of a namespace; idempotent. A limit on a model that does not exist is ignored. What is not
   * counted yet is left to `count`. StorageError TableInUse if a table cannot be changed at present.
   */
  set(namespace: string, limits: readonly QuotaLimits[]): Promise<void>;
  /**
   * Makes sure that the objects of each model that a limit is for are counted: a replica of a release without quotas may
   * have created one.
   */
  limitTables(): Promise<void>;
  /** Counts the objects of limits that are not counted yet; writes go on meanwhile. */
  count(namespace: string, signal: AbortSignal): Promise<void>;
  /** By namespace; one without limits is absent. */
  usage(namespaces: readonly string[]): Promise<Map<string, QuotaUsage[]>>;
  /** All namespaces with limits. */
  namespaces(): Promise<string[]>;
}
