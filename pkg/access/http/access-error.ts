import type { JsonValue } from '#pkg/apimachinery/index';

/**
 * An error with its response body. Clients expect three formats: `{detail, code}`, `{field: [texts]}`, and for logins
 * `{error, msg}`.
 */
export class AccessError extends Error {
  readonly status: number;
  readonly body: JsonValue;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: JsonValue, headers: Readonly<Record<string, string>> = {}) {
    super(`the answer is ${status}`);
    this.name = 'AccessError';
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export function isAccessError(error: unknown): error is AccessError {
  return error instanceof AccessError;
}

export function newDetail(
  status: number,
  code: string,
  detail: string,
  headers?: Readonly<Record<string, string>>,
): AccessError {
  return new AccessError(status, { detail, code }, headers);
}

/** Invalid input: messages by field; those that concern no field are under `non_field_errors`. */
export function newFieldErrors(fields: Readonly<Record<string, readonly string[]>>): AccessError {
  return new AccessError(400, Object.fromEntries(Object.entries(fields).map(([name, texts]) => [name, [...texts]])));
}

export const newParseError = (detail: string): AccessError => newDetail(400, 'parse_error', detail);
/** The request has no credential of a known kind. */
export const newNotAuthenticated = (): AccessError =>
  newDetail(401, 'not_authenticated', 'Authentication credentials were not provided.');
/** The request has a wrong credential; the message never says why it is wrong. */
export const newAuthenticationFailed = (): AccessError =>
  newDetail(401, 'authentication_failed', 'The credential is not valid.');
export const newPermissionDenied = (detail = 'You do not have permission to perform this action.'): AccessError =>
  newDetail(403, 'permission_denied', detail);
export const csrfTokenFailure = 'CSRF token missing or incorrect.';
export const newCsrfFailed = (): AccessError => newDetail(403, 'csrf_failed', csrfTokenFailure);
export const newOtherSession = (): AccessError =>
  newDetail(403, 'csrf_failed', 'The header X-SVC-Session names another session than the cookie.');
/** The CSRF token is right, but the page that sent it is not of this service. */
export const newForeignOrigin = (): AccessError =>
  newDetail(
    403,
    'csrf_failed',
    'A page of another address has asked for this change. Open this service by its own address and try again.',
  );
export const newAccessNotFound = (detail = 'Not found.'): AccessError => newDetail(404, 'not_found', detail);
export const newOrgNotFound = (): AccessError => newDetail(404, 'org_not_found', 'There is no such organization.');
export const newAccessConflict = (detail: string): AccessError => newDetail(409, 'conflict', detail);
export const newThrottled = (seconds: number): AccessError =>
  newDetail(
    429,
    'throttled',
    `Request was throttled. Expected available in ${seconds} second${seconds === 1 ? '' : 's'}.`,
    { 'Retry-After': String(seconds) },
  );
/** `why`: a sentence that any client may see, without a full stop. */
export const newAccessUnavailable = (why?: string): AccessError =>
  newDetail(503, 'unavailable', `The service cannot answer at the moment${why === undefined ? '' : `: ${why}`}.`, {
    'Retry-After': '1',
  });

export function newAccessMethodNotAllowed(method: string, allowed: readonly string[]): AccessError {
  return newDetail(405, 'method_not_allowed', `Method "${method}" not allowed.`, { Allow: allowed.join(', ') });
}
