import type { JsonValue } from '../meta/object.ts';

/**
 * The content of a body, and its minor faults: the caller sends the paths as warnings, or as a 400 under
 * `fieldValidation=Strict`. Both lists end at 100 paths.
 */
export interface DecodeResult {
  value: JsonValue;
  /** Duplicate keys of one object; the last one won. */
  duplicates: string[];
  /** Prototype keys, which are removed. */
  dropped: string[];
}

export const maxFindings = 100;
