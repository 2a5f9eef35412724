/** What a store tells of its work, as it happens: must be quick, and must not throw. */
export interface StoreObserver {
  batch(batch: BatchReport): void;
}

/** One statement that wrote, with its answer. */
export interface BatchReport {
  /** Its mark in the log of changes. */
  id: string;
  size: number;
  /** Of the objects before and after, as the log keeps them. */
  bytes: number;
  /** From when it was sent to its answer, or to its failure. */
  ms: number;
  /** The database gave no answer, or refused all of it; its writes are tried again or get their failures. */
  failed: boolean;
  /**
   * Which requests' writes were in it, and what revision each was given; none for one that did not take place. Made
   * when asked for.
   */
  readonly writes: () => { requestId?: string; revision?: number }[];
}

/** What waits in a store and how far it is, at this moment. */
export interface StoreState {
  /** Writes that wait for the next batch. */
  queueLength: number;
  queueBytes: number;
  /** Changes up to here have been told to this process. */
  cursor: number;
  /** Snapshots that long lists hold. */
  snapshots: number;
}

/** What only the database knows. Numbers of rows and objects are PostgreSQL's estimates. */
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
