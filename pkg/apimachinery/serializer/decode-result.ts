import type { JsonValue } from '../meta/object.ts';

/**
 * What a body holds, and what was wrong with it short of a refusal: the caller answers the paths as warnings,
 * or as a 400 under `fieldValidation=Strict`. Both lists end at 100 paths.
 */
export interface DecodeResult {
  value: JsonValue;
  /** Keys given twice in one object; the last one won. */
  duplicates: string[];
  /** Prototype keys, which are left out. */
  dropped: string[];
}

export const maxFindings = 100;
