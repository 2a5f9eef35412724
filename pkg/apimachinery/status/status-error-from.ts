import { isJsonObject, type JsonObject, type JsonValue } from '../meta/object.ts';
import { ApplyConflict, fieldManagerConflict } from './apply-conflict.ts';
import { StatusError, type StatusErrorOptions } from './status-error.ts';
import type { StatusCause, StatusDetails, StatusReason } from './status.ts';

/** What is known of an answer apart from its body. */
export interface AnswerFacts {
  /** The HTTP status; wins over the body's code. Without both the failure is a 500. */
  code?: number;
  requestId?: string;
}

const maxMessageLength = 32 * 1024;
const maxCauses = 1000;
const maxTextLength = 4096;
/** A day. */
const maxWaitSeconds = 86_400;

/** The reason for an answer without one. Source: k8s.io/apimachinery/pkg/api/errors NewGenericServerResponse. */
const reasonsByCode: Readonly<Record<number, StatusReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  408: 'BadRequest',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'ServiceUnavailable',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
const reasons: ReadonlySet<unknown> = new Set<StatusReason>([
  ...Object.values(reasonsByCode),
  'AlreadyExists',
  'Expired',
]);

/**
 * Converts a Status to the error that a client throws. Accepts anything: a proxy's page, or a foreign Status with
 * fields of any type, becomes an error with the reason of its code. The conflicts of an apply become an ApplyConflict.
 */
export function statusErrorFrom(status: unknown, { code, requestId }: AnswerFacts = {}): StatusError {
  const body: JsonObject = isJsonObject(status) && status['kind'] === 'Status' ? status : {};
  const known = code ?? (isErrorCode(body['code']) ? body['code'] : 500);
  const reason = readReason(body['reason'], known);
  const message = readText(body, 'message', maxMessageLength) ?? `the server answered ${known}`;
  const details = readDetails(body['details']);
  const continueToken = isJsonObject(body['metadata']) ? readText(body['metadata'], 'continue', 64 * 1024) : undefined;
  const options: StatusErrorOptions = {
    ...(details === undefined ? {} : { details }),
    ...(continueToken === undefined ? {} : { continueToken }),
    ...(requestId === undefined ? {} : { requestId }),
  };
  const { causes = [] } = details ?? {};
  if (known === 409 && reason === 'Conflict' && causes.some((cause) => cause.reason === fieldManagerConflict))
    return new ApplyConflict(message, { ...options, details: { ...details, causes } });
  return new StatusError(known, reason, message, options);
}

function isErrorCode(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599;
}

function readReason(reason: unknown, code: number): StatusReason {
  if (reasons.has(reason)) return reason as StatusReason;
  return reasonsByCode[code] ?? (code >= 500 ? 'InternalError' : 'BadRequest');
}

function readDetails(value: JsonValue | undefined): StatusDetails | undefined {
  if (!isJsonObject(value)) return undefined;
  const details: StatusDetails = {};
  for (const field of ['name', 'group', 'kind', 'uid'] as const) {
    const text = readText(value, field, maxTextLength);
    if (text !== undefined) details[field] = text;
  }
  const { causes, retryAfterSeconds } = value;
  if (Array.isArray(causes)) details.causes = causes.slice(0, maxCauses).filter(isJsonObject).map(readCause);
  if (typeof retryAfterSeconds === 'number' && retryAfterSeconds >= 0)
    details.retryAfterSeconds = Math.min(Math.ceil(retryAfterSeconds), maxWaitSeconds);
  return details;
}

function readCause(cause: JsonObject): StatusCause {
  const field = readText(cause, 'field', maxTextLength);
  return {
    reason: readText(cause, 'reason', maxTextLength) ?? '',
    message: readText(cause, 'message', maxMessageLength) ?? '',
    ...(field === undefined ? {} : { field }),
  };
}

function readText(object: JsonObject, field: string, maxLength: number): string | undefined {
  const value = Object.hasOwn(object, field) ? object[field] : undefined;
  return typeof value === 'string' ? value.slice(0, maxLength) : undefined;
}
