/** Receives events of a store as they happen: must be fast, and must not throw. */
export interface StoreObserver {
  batch(batch: BatchReport): void;
}

/** One write statement and its result. */
export interface BatchReport {
  /** The batch's mark in the change log. */
  id: string;
  size: number;
  /** Bytes of the objects before and after the change, as stored in the log. */
  bytes: number;
  /** Time from sending the statement to its result or failure. Milliseconds. */
  ms: number;
  /** The database did not answer, or rejected the whole statement; its writes are retried or fail. */
  failed: boolean;
  /**
   * The requests whose writes were in the batch, each with its revision, absent if the write did not take place.
   * Computed on call.
   */
  readonly writes: () => { requestId?: string; revision?: number }[];
}

/** The queues and the cursor of a store at this moment. */
export interface StoreState {
  /** Writes that wait for the next batch. */
  queueLength: number;
  queueBytes: number;
  /** Changes up to this revision have been delivered in this process. */
  cursor: number;
  /** Snapshots that long lists hold. */
  snapshots: number;
  /** The standby that answers reads, if there is one. */
  standby: StandbyState | undefined;
}

export interface StandbyState {
  /** How long ago the standby was seen to have everything that the primary had. Milliseconds. */
  lagMs: number;
  /** What the primary had at the last question, and the standby did not show yet. */
  lagRevisions: number;
  /** Connections that had to wait for the standby when they were taken. */
  waits: number;
  /** Those that were refused, because it did not have the revision in time. */
  refusals: number;
}

/** Sizes that are read from the database. Numbers of rows and objects are PostgreSQL's estimates. */
export interface StoreMeasures {
  newest: number;
  compacted: number;
  logRows: number;
  /** On disk, indexes included. */
  logBytes: number;
  models: { group: string; resource: string; objects: number; bytes: number }[];
  /** Indexes that are not ready. */
  indexes: { building: number; failed: number };
}
