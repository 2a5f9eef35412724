import type { ComputedResult } from '#pkg/apimachinery/index';

/** Source text that defines a global `indexKeys`, the functions that compute keys. */
export interface KeyScript {
  /** Names it: another text has another one. */
  hash: string;
  text: string;
}

export interface KeyCall {
  function: string;
  /** Does it return several values? */
  multi: boolean;
}

/** Runs the functions of computed indexes, where they can do no harm. */
export interface KeyEvaluator {
  /**
   * What each function gives for each object: a row for each object, in it a result for each call. `objects` are texts
   * of JSON. A function's failure is a result like any other.
   * @throws StorageError Overloaded where too much waits, Unavailable where nothing can be run
   */
  evaluate(script: KeyScript, calls: readonly KeyCall[], objects: readonly string[]): Promise<ComputedResult[][]>;
}
