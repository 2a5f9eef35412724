import type { ComputedResult } from '#pkg/apimachinery/index';

/** Source text that defines a global `indexKeys`, the functions that compute keys. */
export interface KeyScript {
  /** Identifies the text: another text has another hash. */
  hash: string;
  text: string;
}

export interface KeyCall {
  function: string;
  /** Does the function return several values? */
  multi: boolean;
}

/** Runs the functions of computed indexes in a sandbox. */
export interface KeyEvaluator {
  /**
   * Returns a row for each object with one result per call. `objects` are JSON texts. A function's failure is a result
   * like any other.
   * @throws StorageError Overloaded if too many evaluations wait, Unavailable if the functions cannot be run
   */
  evaluate(script: KeyScript, calls: readonly KeyCall[], objects: readonly string[]): Promise<ComputedResult[][]>;
}
