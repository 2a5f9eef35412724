import { isUtf8 } from 'node:buffer';
import { parse } from 'yaml';
import type { WireRequest } from '../../harness/wire/wire-request.ts';
import { violation, type Violation } from '../violation.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';

/** The allowed reasons for each status; source: kubernetes-wire.md, section 3. */
const reasons: Readonly<Record<number, readonly string[]>> = {
  400: ['BadRequest'],
  401: ['Unauthorized'],
  403: ['Forbidden'],
  404: ['NotFound'],
  405: ['MethodNotAllowed'],
  406: ['NotAcceptable'],
  408: ['BadRequest', 'Timeout'],
  409: ['AlreadyExists', 'Conflict'],
  410: ['Expired', 'Gone'],
  412: ['PreconditionFailed'],
  413: ['RequestEntityTooLarge'],
  414: ['BadRequest'],
  415: ['UnsupportedMediaType'],
  417: ['BadRequest'],
  422: ['Invalid'],
  429: ['TooManyRequests'],
  431: ['BadRequest'],
  503: ['ServiceUnavailable'],
  504: ['Timeout'],
};
/** The server errors that the contract names. */
const named: Readonly<Record<number, RegExp>> = {
  503: /index/i,
  504: /Too large resource version|not done within|did not complete within/,
};

interface Failure {
  code: unknown;
  reason: unknown;
  message: unknown;
  causes: unknown;
}

/** A failure is a Status (or problem) that matches the status line, in text and fields. */
export function judgeFailure(request: WireRequest, answer: Answer): Violation | undefined {
  const { status, body } = answer;
  if (request.method === 'HEAD' && body.length === 0) return undefined;
  const failure = readFailure(answer);
  if (typeof failure === 'string') return violation('failure body', `${failure}: ${body.toString('utf8', 0, 300)}`);
  const { code, reason, message, causes } = failure;
  if (code !== status) return violation('failure body', `code ${String(code)} with status ${status}`);
  if (typeof message !== 'string' || message === '') return violation('failure body', 'no message');
  if (!(reasons[status] ?? []).includes(String(reason)))
    return violation('failure body', `reason ${String(reason)} with status ${status}`);
  if (/\p{Surrogate}|\0/u.test(message))
    return violation('failure body', `half a character in the message ${JSON.stringify(message.slice(0, 300))}`);
  if (status >= 500 && named[status]?.test(message) !== true)
    return violation('unnamed 5xx', `${status}: ${message.slice(0, 300)}`);
  if (message.length > 20_000) return violation('failure body', `a message of ${message.length} characters`);
  return judgeCauses(status, message, causes);
}

/** A failed JSON patch has no causes, as in Kubernetes; any other 422 has a field for each cause. */
function judgeCauses(status: number, message: string, causes: unknown): Violation | undefined {
  if (causes !== undefined && (!Array.isArray(causes) || !causes.every(isCause)))
    return violation('causes', JSON.stringify(causes).slice(0, 300));
  if (status !== 422 || (Array.isArray(causes) && causes.length > 0)) return undefined;
  return /Idempotency-Key|error in our request/.test(message)
    ? undefined
    : violation('causes', `422 without causes: ${message.slice(0, 300)}`);
}

function isCause(cause: unknown): boolean {
  const { field, message } = (cause ?? {}) as { field?: unknown; message?: unknown };
  return (field === undefined || typeof field === 'string') && typeof message === 'string' && message !== '';
}

function readFailure(answer: Answer): Failure | string {
  const type = headerOf(answer, 'content-type');
  if (!isUtf8(answer.body)) return 'no UTF-8';
  let value: unknown;
  try {
    const text = answer.body.toString();
    value = type === 'application/yaml' ? parse(text) : JSON.parse(text);
  } catch {
    return `not ${type}`;
  }
  if (typeof value !== 'object' || value === null) return 'no object';
  if (type === 'application/problem+json') return readProblem(value as Record<string, unknown>);
  if (type !== 'application/json' && type !== 'application/yaml') return `Content-Type ${type}`;
  const { kind, apiVersion, status, code, reason, message, details } = value as Record<string, unknown>;
  if (kind !== 'Status' || apiVersion !== 'v1' || status !== 'Failure') return 'no Status of a failure';
  return { code, reason, message, causes: (details as { causes?: unknown } | undefined)?.causes };
}

function readProblem({
  type,
  title,
  status,
  detail,
  code,
  errors,
  requestId,
}: Record<string, unknown>): Failure | string {
  if (typeof type !== 'string' || typeof title !== 'string' || typeof requestId !== 'string' || !Array.isArray(errors))
    return 'no problem of RFC 9457';
  const causes = errors.map((error) => ({
    field: (error as { field?: unknown }).field,
    message: (error as { detail?: unknown }).detail,
  }));
  return { code: status, reason: code, message: detail, causes };
}
