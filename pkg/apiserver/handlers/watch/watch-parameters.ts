import { fieldError, newBadRequest, newInvalid, type StatusCause } from '#pkg/apimachinery/index';
import { booleanParameter, countParameter, textParameter } from '../request/query-parameter.ts';
import { parseResourceVersion } from '../request/resource-version.ts';
import type { WatchTiming } from '../options/watch-timing.ts';

/** Longer timers overflow. */
const maxDurationMs = 24 * 60 * 60_000;

/**
 * The start of a watch: with all current objects, of a state not older than `notOlderThan`; with the next change; or
 * after a revision.
 */
export type WatchStart =
  { type: 'objects'; notOlderThan: number } | { type: 'now' } | { type: 'after'; revision: number };

export interface WatchParameters {
  start: WatchStart;
  /** Does a bookmark mark the end of the initial objects? Source: KEP-3157. */
  marksInitialEnd: boolean;
  bookmarks: boolean;
  durationMs: number;
}

/**
 * Parses the parameters of a watch. `lastEventId` is the header Last-Event-ID of an event stream and takes precedence
 * over the URL.
 * A combination for which Kubernetes answers 422 gets 422: its clients then fall back to a list and a watch.
 * @throws StatusError 400 or 422
 */
export function parseWatchParameters(
  query: URLSearchParams,
  options: WatchTiming,
  lastEventId?: string,
): WatchParameters {
  const asked = parseResourceVersion(textParameter(query, 'resourceVersion'));
  const sendInitialEvents = booleanParameter(query, 'sendInitialEvents');
  checkMatch(sendInitialEvents, textParameter(query, 'resourceVersionMatch'), textParameter(query, 'continue'));
  const bookmarks = booleanParameter(query, 'allowWatchBookmarks') ?? false;
  const timeoutSeconds = countParameter(query, 'timeoutSeconds');
  const durationMs =
    timeoutSeconds === undefined ? randomDuration(options) : Math.min(timeoutSeconds * 1000, maxDurationMs);
  const resumed = resumedRevision(lastEventId);
  if (resumed !== undefined)
    return { start: { type: 'after', revision: resumed }, marksInitialEnd: false, bookmarks, durationMs };
  return {
    start: startOf(asked ?? 0, sendInitialEvents),
    marksInitialEnd: sendInitialEvents === true && bookmarks,
    bookmarks,
    durationMs,
  };
}

function startOf(asked: number, sendInitialEvents: boolean | undefined): WatchStart {
  if (sendInitialEvents === true || (asked === 0 && sendInitialEvents === undefined))
    return { type: 'objects', notOlderThan: asked };
  return asked === 0 ? { type: 'now' } : { type: 'after', revision: asked };
}

function resumedRevision(lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '' || lastEventId === '0') return undefined;
  if (!/^\d{1,20}$/.test(lastEventId))
    throw newBadRequest('the header Last-Event-ID must be a resourceVersion that this server gave');
  return parseResourceVersion(lastEventId);
}

/** Source: k8s.io/apimachinery/pkg/apis/meta/internalversion/validation ValidateListOptions. */
function checkMatch(
  sendInitialEvents: boolean | undefined,
  match: string | undefined,
  token: string | undefined,
): void {
  const causes: StatusCause[] = [];
  const forbidden = (detail: string): number => causes.push(fieldError.forbidden('resourceVersionMatch', detail));
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan')
    forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  if (match !== undefined) {
    if (sendInitialEvents === undefined)
      forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
    if (match !== 'NotOlderThan') causes.push(fieldError.notSupported('resourceVersionMatch', match, ['NotOlderThan']));
    if (token !== undefined) forbidden('resourceVersionMatch is forbidden when continue is provided');
  }
  if (causes.length > 0) throw newInvalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', causes);
}

/** Of a watch that names no duration. */
export function randomDuration({ minDurationMs, maxDurationMs: max }: WatchTiming): number {
  return minDurationMs + Math.random() * (max - minDurationMs);
}
