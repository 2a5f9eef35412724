import { Router, type Request } from 'express';
import { isStatusError, newBadRequest, newPathMethodNotAllowed, StatusError } from '#pkg/apimachinery/index';
import { contextOf, sendJson, type EndpointGroup } from '#pkg/http/index';
import {
  completeEvent,
  type AuditLog,
  type AuditPosition,
  type AuditQuery,
  type AuditSelectors,
} from '#pkg/audit/index';

export const auditPath = '/apis/audit.k8s.io/v1/events';

const defaultLimit = 100;
const maxLimit = 250;
const maxValueLength = 2048;
const timeForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$/;
/** The selectors, by their query parameters. */
const selectors = {
  user: 'username',
  verb: 'verb',
  resource: 'resource',
  namespace: 'namespace',
  name: 'name',
  code: 'code',
  auditID: 'id',
} as const satisfies Record<string, keyof AuditSelectors>;
export const queryParameters = [...Object.keys(selectors), 'from', 'to', 'limit', 'continue'] as const;

/** GET: the events of the audit log, the newest first. RBAC sees it as `list` of `events` in `audit.k8s.io`. */
export function auditEndpoint(log: Pick<AuditLog, 'list'>): EndpointGroup {
  const router = Router({ strict: true });
  router.get('/', async (request: Request) => {
    const context = contextOf(request);
    const query = { ...parseAuditQuery(context.query), signal: context.signal };
    const { records, next } = await log.list(query).catch((error: unknown) => {
      // Of the database: the reason is in the log.
      throw newUnreadable(error);
    });
    const list = {
      kind: 'EventList',
      apiVersion: 'audit.k8s.io/v1',
      metadata: next === undefined ? {} : { continue: encodePosition(next) },
      items: records.map(completeEvent),
    };
    await sendJson(context, 200, JSON.stringify(list));
  });
  router.all('/', (request: Request) => {
    request.res!.setHeader('Allow', 'GET, HEAD');
    throw newPathMethodNotAllowed();
  });
  return { prefix: auditPath, router };
}

/** @throws StatusError 400 that names the parameter */
export function parseAuditQuery(query: URLSearchParams): AuditQuery {
  const known: ReadonlySet<string> = new Set(queryParameters);
  for (const name of query.keys()) {
    if (!known.has(name))
      throw newBadRequest(
        `the parameter ${JSON.stringify(name.slice(0, 100))} is not known; there are ${queryParameters.join(', ')}`,
      );
    if (query.getAll(name).length > 1) throw newBadRequest(`the parameter ${name} must be given once`);
    if (query.get(name)!.length > maxValueLength || query.get(name)!.includes('\0'))
      throw newBadRequest(`the parameter ${name} has at most ${maxValueLength} characters, and none of them is NUL`);
  }
  const from = timeOf(query, 'from');
  const to = timeOf(query, 'to');
  const after = query.get('continue');
  return {
    selectors: selectorsOf(query),
    limit: numberOf(query, 'limit', { min: 1, max: maxLimit }) ?? defaultLimit,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(after === null ? {} : { after: decodePosition(after) }),
  };
}

function selectorsOf(query: URLSearchParams): AuditSelectors {
  const given = Object.entries(selectors).filter(([name]) => query.has(name) && name !== 'code');
  const code = numberOf(query, 'code', { min: 0, max: 599 });
  return {
    ...Object.fromEntries(given.map(([name, selector]) => [selector, query.get(name)!])),
    ...(code === undefined ? {} : { code }),
  };
}

function numberOf(
  query: URLSearchParams,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw newBadRequest(`the parameter ${name} must be a number from ${min} to ${max}`);
  return value;
}

function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text);
  const time = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw newBadRequest(`the parameter ${name} must be a time such as 2026-01-31T09:30:00Z`);
  return time;
}

function encodePosition({ at, id, revision }: AuditPosition): string {
  return Buffer.from(JSON.stringify([at, id, revision])).toString('base64url');
}

function decodePosition(token: string): AuditPosition {
  const refusal = newBadRequest('the parameter continue must be the metadata.continue of the page before');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    throw refusal;
  }
  const [at, id, revision] = (Array.isArray(value) ? value : []) as unknown[];
  const isTime = typeof at === 'string' && timeForm.test(at) && isDate(at);
  const isId = typeof id === 'string' && /^[ -~]{0,128}$/.test(id);
  if (!isTime || !isId || !Number.isSafeInteger(revision) || (revision as number) < 0) throw refusal;
  return { at, id, revision: revision as number };
}

/** `Date.parse` takes the 30th of February for the 2nd of March. PostgreSQL has no year 0. */
function isDate(time: string): boolean {
  const parsed = Date.parse(time);
  return (
    !time.startsWith('0000') && !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(time.slice(0, 19))
  );
}

/** StatusError 503 for an error of the database; its reason is in the log. */
function newUnreadable(error: unknown): StatusError {
  if (isStatusError(error)) return error;
  return new StatusError(503, 'ServiceUnavailable', 'the audit log cannot be read now', {
    details: { retryAfterSeconds: 5 },
    cause: error,
  });
}
