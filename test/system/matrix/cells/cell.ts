import type { ServerName, MatrixRequest } from '../wire/matrix-request.ts';
import type { Making } from '../fixtures/disposable-records.ts';
import type { Verdict } from '../model/verdict.ts';

/** One request with the expected result by the contract. */
export interface Cell {
  readonly number: number;
  /** Name of the credential. */
  readonly credential: string;
  /** The username, if the caller is a service. */
  readonly service?: string;
  /** Further facts for the report, in order of interest. */
  readonly facts: Readonly<Record<string, string>>;
  readonly verdict: Verdict;
  /** The expected result of a review. */
  readonly reviews?: boolean;
  /** What to create before. */
  readonly makes?: Making;
  /** Only the head of the response is read. */
  readonly isStream?: true;
  /** Built when it is sent, because signatures have dates. `made` is the id of the created record. */
  request(origins: Readonly<Record<ServerName, string>>, made?: string): MatrixRequest;
}
