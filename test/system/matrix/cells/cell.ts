import type { ServerName, MatrixRequest } from '../wire/matrix-request.ts';
import type { Making } from '../world/throwaways.ts';
import type { Verdict } from '../model/verdict.ts';

/** One request, and what the contract says of it. */
export interface Cell {
  readonly number: number;
  /** Its name. */
  readonly credential: string;
  /** What else there is to tell of it, in the order in which a reader wants it. */
  readonly facts: Readonly<Record<string, string>>;
  readonly verdict: Verdict;
  /** Of a review: what its answer must say. */
  readonly reviews?: boolean;
  /** What must be made for it first. */
  readonly makes?: Making;
  /** Ends with the head of the answer. */
  readonly isStream?: true;
  /** At the moment it is sent: signatures have dates. `made` is the id of what was made. */
  request(origins: Readonly<Record<ServerName, string>>, made?: string): MatrixRequest;
}
