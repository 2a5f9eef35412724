import {
  fieldError,
  newExpired,
  newInvalid,
  newTooLargeResourceVersion,
  newTooOldResourceVersion,
  type StatusCause,
} from '#pkg/apimachinery/index';
import type { ResourceReader } from '../../rest/served-resource.ts';
import { newInvalidParameter, textParameter } from './query-parameter.ts';

const decimal = /^\d{1,20}$/;

/** The revision that a response must have. `at` is 0 for any revision. A response always shows the newest state. */
export interface RevisionDemand {
  at: number;
  exact: boolean;
}

/**
 * Reads a resourceVersion; undefined where the text is absent or empty. A revision above 2^53 becomes 2^53: both lie in
 * the future.
 * @throws StatusError 400 for a text that is not a decimal number: this server gives no other resourceVersion.
 */
export function parseResourceVersion(text: string | undefined, name = 'resourceVersion'): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!decimal.test(text)) throw newInvalidParameter(name, 'must be a resourceVersion that this server gave');
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/**
 * The parameters `resourceVersion` and `resourceVersionMatch` of a list. Source: k8s.io/apimachinery
 * ValidateListOptions.
 * @throws StatusError 400 or 422 for combinations without a meaning.
 */
export function parseRevisionDemand(query: URLSearchParams, continued: boolean): RevisionDemand {
  const at = parseResourceVersion(textParameter(query, 'resourceVersion'));
  const match = textParameter(query, 'resourceVersionMatch');
  const causes: StatusCause[] = [];
  if (match !== undefined) {
    if (continued)
      causes.push(
        fieldError.forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
      );
    if (at === undefined)
      causes.push(
        fieldError.forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden unless resourceVersion is provided',
        ),
      );
    if (match !== 'Exact' && match !== 'NotOlderThan')
      causes.push(fieldError.notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
    if (match === 'Exact' && at === 0)
      causes.push(
        fieldError.forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"',
        ),
      );
  }
  if (textParameter(query, 'sendInitialEvents') !== undefined)
    causes.push(fieldError.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  if (causes.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', causes);
  if (continued && at !== undefined && at !== 0)
    throw newInvalidParameter('resourceVersion', 'specifying resource version is not allowed when using continue');
  return { at: at ?? 0, exact: match === 'Exact' };
}

/**
 * Checks that a response at `revision` meets the demand.
 * Only the newest state is served: any other exact revision is gone.
 * @throws StatusError 504 for a revision in the future, 410 for an exact one in the past, or one that a failover lost.
 */
export async function checkRevision(
  reads: ResourceReader,
  { at, exact }: RevisionDemand,
  revision: number,
): Promise<void> {
  if (at > revision) throw newTooLargeResourceVersion(String(at), revision);
  if (at > 0 && (await reads.isLost(at))) throw newTooOldResourceVersion(at, revision);
  if (exact && at !== revision)
    throw newExpired(
      `The resourceVersion for the provided list is too old: ${at} (${revision}); only the newest can be listed.`,
    );
}

/** The newest revision in the database, of any model and any replica. */
export async function currentRevision(reads: ResourceReader, signal: AbortSignal): Promise<number> {
  return (await reads.chunk({ selector: { labels: [], fields: [] }, sort: [], limit: 1, signal })).revision;
}
