import { isJsonObject, type JsonObject, type JsonValue } from '../meta/object.ts';
import { StatusError } from './status-error.ts';
import type { StatusCause, StatusDetails, StatusReason } from './status.ts';

/** What is known of an answer apart from its body. */
export interface AnswerFacts {
  /** The HTTP status; wins over the body's code. Without both the failure is a 500. */
  code?: number;
  requestId?: string | undefined;
}

const maxTextLength = 64 * 1024;
const maxCauses = 1000;
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
const reasons = new Set<unknown>([...Object.values(reasonsByCode), 'AlreadyExists', 'Expired']);

/**
 * Converts a Status to the error that a client throws. Accepts anything: a proxy's page, or a foreign Status with
 * fields of any type, becomes an error with the reason of its code.
 */
export function statusErrorFrom(status: unknown, { code, requestId }: AnswerFacts = {}): StatusError {
  const body: JsonObject = isJsonObject(status) && status['kind'] === 'Status' ? status : {};
  const known = code ?? (isErrorCode(body['code']) ? body['code'] : 500);
  const { message = `the server answered ${known}` } = textsOf(body, 'message');
  return new StatusError(known, readReason(body['reason'], known), message, {
    details: readDetails(body['details']),
    continueToken: textsOf(body['metadata'], 'continue').continue,
    requestId,
  });
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
  const details: StatusDetails = textsOf(value, 'name', 'group', 'kind', 'uid');
  const { causes, retryAfterSeconds } = value;
  if (Array.isArray(causes)) details.causes = causes.slice(0, maxCauses).filter(isJsonObject).map(readCause);
  if (typeof retryAfterSeconds === 'number' && retryAfterSeconds >= 0)
    details.retryAfterSeconds = Math.min(Math.ceil(retryAfterSeconds), maxWaitSeconds);
  return details;
}

function readCause(cause: JsonObject): StatusCause {
  return { reason: '', message: '', ...textsOf(cause, 'reason', 'message', 'field') };
}

/** Those of the fields that are texts. */
function textsOf<Name extends string>(value: JsonValue | undefined, ...names: Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = isJsonObject(value) ? value[name] : undefined;
    if (typeof text === 'string') found[name] = text.slice(0, maxTextLength);
  }
  return found;
}
