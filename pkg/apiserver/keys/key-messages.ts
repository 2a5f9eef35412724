import type { KeyCall } from '#pkg/storage/index';

/** A request to the process. `text` is omitted if the process should have the script. */
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
  /** For one object; a large one gets 0.1 s more per megabyte. */
  objectMs: number;
  /** For the objects of one message; objects not begun by then are left out. */
  batchMs: number;
}

/**
 * The expected answer; `key-answer.ts` validates it. `rows` are JSON texts for the first objects, each a list of `{ v:
 * values }` or `{ f: fault }` for the calls; absent if the process lacks the script.
 */
export type KeyAnswer =
  { id: number; kind: 'check'; problems: KeyProblem[] } | { id: number; kind: 'evaluate'; rows?: string[] };

/** Why a script is refused: the whole script, or one of the functions it should have. */
export interface KeyProblem {
  function?: string;
  message: string;
}
