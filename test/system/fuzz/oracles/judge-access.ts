import { isUtf8 } from 'node:buffer';
import type { WireRequest } from '../../harness/wire/wire-request.ts';
import { violation, type Violation } from '../violation.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import { outcomeJudge } from './judge-outcome.ts';
import { judgeContent } from './judge-success.ts';

const known = new Set([200, 201, 204, 303, 304, 400, 401, 403, 404, 405, 408, 409, 413, 414, 415, 417, 429, 431]);
/** The only possible 401s: clients must not learn what was wrong with a credential. */
const unauthenticated: ReadonlySet<string> = new Set([
  '{"detail":"Authentication credentials were not provided.","code":"not_authenticated"}',
  '{"detail":"The credential is not valid.","code":"authentication_failed"}',
]);
const loginErrors: ReadonlySet<unknown> = new Set(['password_failed', 'block_login', 'user_inactive', 'user_expired']);

/** The contract of access management; source: access-api.md. */
export const accessJudge = outcomeJudge(judgeAnswer);

function judgeAnswer(request: WireRequest, answer: Answer): Violation | undefined {
  const { status } = answer;
  if (status >= 500) return violation('unnamed 5xx', `${status}: ${answer.body.toString('utf8', 0, 300)}`);
  if (!known.has(status)) return violation('unknown status', String(status));
  const location = headerOf(answer, 'location');
  // Pages redirect only to other pages; a redirect in the API would break signatures.
  if (
    (location !== undefined) !== (status === 303) ||
    (location !== undefined && (isApi(request) || !/^\/(?![/\\])/.test(location)))
  )
    return violation('headers', `Location: ${location} with ${status}`);
  if (status < 400) return status === 303 ? undefined : judgeContent(request, answer);
  if ((request.raw !== undefined || status === 431) && isUnread(answer)) return undefined;
  if (headerOf(answer, 'cache-control') !== 'no-store')
    return violation('headers', `Cache-Control: ${headerOf(answer, 'cache-control')}`);
  if (request.method === 'HEAD' && answer.body.length === 0) return undefined;
  if (!isUtf8(answer.body)) return violation('failure body', 'no UTF-8');
  const text = answer.body.toString();
  const wrong =
    headerOf(answer, 'content-type')?.startsWith('text/html') === true
      ? judgePage(request, text)
      : judgeJson(status, text);
  return wrong === undefined ? undefined : violation('failure body', `${wrong}: ${status} ${text.slice(0, 300)}`);
}

function isApi({ target, raw }: WireRequest): boolean {
  return raw === undefined && /^\/api(?:\/|$|\?)/.test(target);
}

/** Bytes that are not a request never reach the service: the HTTP server answers for both, in the platform's format. */
function isUnread({ status, body }: Answer): boolean {
  return body.includes(`"kind":"Status"`) && body.includes(`"status":"Failure"`) && body.includes(`"code":${status}`);
}

function judgePage(request: WireRequest, text: string): string | undefined {
  if (isApi(request)) return 'a page in the API';
  return text.startsWith('<!doctype html>') || text.startsWith('<!DOCTYPE html>') ? undefined : 'no page';
}

/** `{detail, code}`; for fields `{name: [texts]}`, for logins `{error, msg}`. */
function judgeJson(status: number, text: string): string | undefined {
  if (status === 401 && !unauthenticated.has(text)) return 'another 401';
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return 'no JSON';
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'no object';
  const { detail, code, error, msg } = body as Record<string, unknown>;
  const size = Object.keys(body).length;
  const isDetail = size === 2 && isText(detail) && typeof code === 'string' && /^[a-z_]+$/.test(code);
  const isOfLogin = status === 400 && size === 2 && loginErrors.has(error) && isText(msg);
  const isOfFields =
    status === 400 &&
    size > 0 &&
    Object.values(body).every((texts) => Array.isArray(texts) && texts.length > 0 && texts.every(isText));
  if (!isDetail && !isOfLogin && !isOfFields) return 'none of the three shapes';
  return /\p{Surrogate}|\0/u.test(JSON.stringify(body)) || text.length > 20_000
    ? 'half a character, or too much'
    : undefined;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !/\p{Surrogate}|\0/u.test(value);
}
