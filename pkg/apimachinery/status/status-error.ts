import {
  formatApiVersion,
  formatGroupResource,
  type GroupResource,
  type GroupVersionKind,
} from '../schema/group-version.ts';
import type { Status, StatusCause, StatusDetails, StatusReason } from './status.ts';

/** Limit of the causes in a message. Characters. */
const maxListLength = 10_000;
/** Limit of a name in a message, since it may be invalid by its length; the longest valid one has 253 characters. */
const maxNameLength = 256;
/**
 * Removed from messages, which repeat input of clients and are shown on terminals: control characters except tab and
 * line feed, and unpaired surrogates.
 */
const unprintable = /(?![\n\t])[\p{Cc}\p{Surrogate}]/gu;

export interface StatusErrorOptions {
  details?: StatusDetails | undefined;
  continueToken?: string | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/**
 * A failure with its HTTP answer: thrown anywhere, converted to JSON once, by the status filter. Source of reasons and
 * messages: k8s.io/apimachinery/pkg/api/errors.
 */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: StatusReason;
  readonly details: StatusDetails | undefined;
  /** A token that continues an expired list, inconsistently. */
  readonly continueToken: string | undefined;
  /** Set if the answer came over the wire: the request's id in the server's log. */
  readonly requestId: string | undefined;

  constructor(code: number, reason: StatusReason, message: string, options: StatusErrorOptions = {}) {
    super(message.replaceAll(unprintable, '\uFFFD'), options);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = options.details;
    this.continueToken = options.continueToken;
    this.requestId = options.requestId;
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

export function isStatusError(error: unknown, reason?: StatusReason): error is StatusError {
  return error instanceof StatusError && (reason === undefined || error.reason === reason);
}

export function newBadRequest(message: string, causes?: StatusCause[]): StatusError {
  return new StatusError(400, 'BadRequest', message, causes === undefined ? {} : { details: { causes } });
}

export function newUnauthorized(message = 'Unauthorized'): StatusError {
  return new StatusError(401, 'Unauthorized', message);
}

export function newForbidden(
  resource: GroupResource,
  name: string,
  reason: string,
  causes?: StatusCause[],
): StatusError {
  const subject = name === '' ? formatGroupResource(resource) : `${formatGroupResource(resource)} "${name}"`;
  return new StatusError(403, 'Forbidden', `${subject} is forbidden: ${reason}`, {
    details: { ...detailsOf(resource, name), ...(causes === undefined ? {} : { causes }) },
  });
}

export function newNotFound(resource: GroupResource, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${formatGroupResource(resource)} "${name}" not found`, {
    details: detailsOf(resource, name),
  });
}

/** For a path or a resource that the server does not serve. */
export function newUnknownPath(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource');
}

/** For a path that has other methods; the header Allow names them. */
export function newPathMethodNotAllowed(): StatusError {
  return new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
}

export function newMethodNotAllowed(resource: GroupResource, verb: string): StatusError {
  return new StatusError(
    405,
    'MethodNotAllowed',
    `${verb} is not supported on resources of kind "${formatGroupResource(resource)}"`,
    {
      details: detailsOf(resource, ''),
    },
  );
}

export function newNotAcceptable(message: string): StatusError {
  return new StatusError(406, 'NotAcceptable', message);
}

export function newAlreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError(409, 'AlreadyExists', `${formatGroupResource(resource)} "${name}" already exists`, {
    details: detailsOf(resource, name),
  });
}

export function newConflict(
  resource: GroupResource,
  name: string,
  reason: string,
  causes?: StatusCause[],
): StatusError {
  return new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${formatGroupResource(resource)} "${name}": ${reason}`,
    {
      details: { ...detailsOf(resource, name), ...(causes === undefined ? {} : { causes }) },
    },
  );
}

/** For an `If-Match` that does not match. */
export function newPreconditionFailed(resource: GroupResource, name: string, reason: string): StatusError {
  return new StatusError(
    412,
    'PreconditionFailed',
    `Operation cannot be fulfilled on ${formatGroupResource(resource)} "${name}": ${reason}`,
    {
      details: detailsOf(resource, name),
    },
  );
}

export function newExpired(message: string, continueToken?: string): StatusError {
  return new StatusError(410, 'Expired', message, continueToken === undefined ? {} : { continueToken });
}

export function newRequestEntityTooLarge(message: string): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', message);
}

export function newUnsupportedMediaType(accepted: readonly string[]): StatusError {
  return new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

/** One cause per field; causes are sorted by field, as clients print them. */
export function newInvalid(
  kind: Pick<GroupVersionKind, 'group' | 'kind'>,
  name: string,
  causes: readonly StatusCause[],
): StatusError {
  const sorted = [...causes].toSorted((a, b) => compareText(a.field ?? '', b.field ?? ''));
  const texts = sorted.map((cause) =>
    cause.field === undefined || cause.field === '' ? cause.message : `${cause.field}: ${cause.message}`,
  );
  const subject = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const shown = name.length <= maxNameLength ? name : `${name.slice(0, maxNameLength - 3)}...`;
  const list = texts.length === 1 ? texts[0] : `[${listed(texts)}]`;
  return new StatusError(422, 'Invalid', `${subject} "${shown}" is invalid: ${list}`, {
    details: {
      ...(name === '' ? {} : { name: shown }),
      ...(kind.group === '' ? {} : { group: kind.group }),
      kind: kind.kind,
      causes: sorted,
    },
  });
}

/** The details have all causes; the message, for people, names only as many as are readable. */
function listed(texts: readonly string[]): string {
  let length = 0;
  const shown = texts.filter((text) => (length += text.length) <= maxListLength);
  return [...shown, ...(shown.length === texts.length ? [] : [`and ${texts.length - shown.length} more`])].join(', ');
}

export function newTooManyRequests(message: string, retryAfterSeconds = 1): StatusError {
  return new StatusError(429, 'TooManyRequests', message, { details: { retryAfterSeconds } });
}

export function newInternalError(cause: unknown): StatusError {
  return new StatusError(500, 'InternalError', 'Internal error occurred: the request could not be completed', {
    cause,
  });
}

export function newServiceUnavailable(message: string, retryAfterSeconds = 1): StatusError {
  return new StatusError(503, 'ServiceUnavailable', message, { details: { retryAfterSeconds } });
}

export function newTimeout(message: string, retryAfterSeconds = 1, causes?: StatusCause[]): StatusError {
  return new StatusError(504, 'Timeout', message, {
    details: { retryAfterSeconds, ...(causes === undefined ? {} : { causes }) },
  });
}

/** `oldest` is the revision that the client may begin from. */
export function newTooOldResourceVersion(asked: number, oldest: number): StatusError {
  return newExpired(`too old resource version: ${asked} (${oldest})`);
}

/** A resourceVersion this server has not reached. */
export function newTooLargeResourceVersion(asked: string, current: number): StatusError {
  return newTimeout(`Timeout: Too large resource version: ${asked}, current: ${current}`, 1, [
    { reason: 'ResourceVersionTooLarge', message: 'Too large resource version' },
  ]);
}

/** The message for a body whose apiVersion is not the URL's. */
export function apiVersionMismatch(inBody: string, expected: GroupVersionKind): StatusError {
  return newBadRequest(
    `the API version in the data (${inBody}) does not match the expected API version (${formatApiVersion(expected)})`,
  );
}

function detailsOf({ group, resource }: GroupResource, name: string): StatusDetails {
  return { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource };
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
