import type { ApiObject, JsonValue } from '#pkg/apimachinery/index';

/**
 * What the audit log keeps of a write, in the same statement. Resource, namespace, name and revision are those of the
 * written object.
 */
export interface AuditRow {
  /** The request's id. The rows of one request share it. */
  id: string;
  username: string;
  verb: string;
  /** Status code of the response. */
  code: number;
  /** The event as JSON. A reader puts the time and the revision of a write's row into it. */
  event: string;
}

/** What a write needs to know of the audit of its request. */
export interface WriteAudit {
  /** The client's object or patch, once it is decoded. */
  requestObject: JsonValue | undefined;
  /** The row to store with the write; undefined if the policy does not keep it. */
  rowOf(write: { code: number; object: ApiObject }): AuditRow | undefined;
  /** Call it once the write has taken place with its row; without one, where others record the request. */
  markStored(write?: { row: AuditRow; revision: number }): void;
}

/** A row of a request that wrote nothing. */
export interface AuditRecord extends AuditRow {
  /** `<plural>.<group>`, or the plural in the core group; '' for a request outside of resources. */
  resource: string;
  /** '' without a namespace. */
  namespace: string;
  name: string;
}

export interface StoredAuditRecord extends AuditRecord {
  /** When the row was written: RFC 3339 with microseconds, UTC. */
  at: string;
  /** The revision of the change; undefined if the request wrote nothing. */
  revision?: number;
}

/** A position in the log: every row before it is newer. */
export interface AuditPosition {
  at: string;
  id: string;
  revision: number;
}

/** Each selector keeps the rows with this value. */
export interface AuditSelectors {
  username?: string;
  verb?: string;
  code?: number;
  resource?: string;
  namespace?: string;
  name?: string;
  id?: string;
}

export interface AuditQuery {
  selectors: AuditSelectors;
  /** The time of the oldest row; milliseconds since 1970. Default: no limit. */
  from?: number;
  /** Rows are older than this; milliseconds since 1970. Default: no limit. */
  to?: number;
  limit: number;
  /** Where the page before ended. */
  after?: AuditPosition;
  signal?: AbortSignal;
}

export interface AuditPage {
  /** The newest first. Fewer than the limit if the search takes long: `next` tells whether there may be more. */
  records: StoredAuditRecord[];
  next?: AuditPosition;
}

/** The audit log. Rows of writes come with `Store.write`. */
export interface AuditLog {
  /** Adds rows of requests that wrote nothing; waits for no other write. */
  append(records: readonly AuditRecord[]): Promise<void>;
  list(query: AuditQuery): Promise<AuditPage>;
  /**
   * Makes room for the coming days, and removes what is older than `retentionDays`; undefined removes nothing. Resolves
   * with false if something is left for a later call.
   */
  maintain(options: { retentionDays?: number; signal?: AbortSignal }): Promise<boolean>;
}
