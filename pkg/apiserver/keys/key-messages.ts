import type { KeyCall } from '#pkg/storage/index';

/** To the process that runs them. `text` is left out where it is thought to have the script. */
export type KeyRequest =
  | { id: number; kind: 'check'; text: string; functions: readonly string[] }
  | {
      id: number;
      kind: 'evaluate';
      hash: string;
      text?: string;
      calls: readonly KeyCall[];
      objects: readonly string[];
      limits: KeyLimits;
    };

/** How long functions may run, in milliseconds. */
export interface KeyLimits {
  /** With one object; for a large one a tenth of a second a megabyte more. */
  objectMs: number;
  /** With the objects of one message; what was not begun by then is left. */
  batchMs: number;
}

/**
 * The answer, as it should be: `key-answer.ts` reads it. `rows` are texts of JSON for the first so many objects, each a
 * list of `{ v: values }` or `{ f: fault }` for the calls; absent where the script is not there.
 */
export type KeyAnswer =
  { id: number; kind: 'check'; problems: KeyProblem[] } | { id: number; kind: 'evaluate'; rows?: string[] };

/** Why a script cannot be taken: it as a whole, or one of the functions it should have. */
export interface KeyProblem {
  function?: string;
  message: string;
}
