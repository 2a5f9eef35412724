import {
  isJsonObject,
  parseRetryAfter,
  statusErrorFrom,
  type JsonObject,
  type StatusCause,
  type StatusError,
} from '#pkg/apimachinery/index';

/**
 * The failure that an answer tells, in either service's dialect: a Status of the content platform, or `{detail, code}`,
 * `{field: [texts]}` or `{error, msg}` of access management.
 */
export function failureOf({ status, headers }: Response, text: string): StatusError {
  const requestId = headers.get('x-request-id') ?? undefined;
  const facts = { code: status, ...(requestId === undefined ? {} : { requestId }) };
  const body = parse(text);
  const told = !isJsonObject(body) ? { kind: 'Status' } : body['kind'] === 'Status' ? body : statusOf(body);
  const seconds = parseRetryAfter(headers.get('retry-after') ?? undefined);
  if (seconds === undefined) return statusErrorFrom(told, facts);
  return statusErrorFrom({ ...told, details: { retryAfterSeconds: seconds, ...(told['details'] as object) } }, facts);
}

/** A Status with what access management says; each of its fields becomes a cause. */
function statusOf(body: JsonObject): JsonObject {
  const { detail, code, msg, error } = body;
  const message = detail ?? msg;
  if (typeof message === 'string')
    return { kind: 'Status', message, details: { causes: [{ reason: code ?? error ?? '', message }] } };
  const causes = Object.entries(body).flatMap(([field, texts]): StatusCause[] =>
    Array.isArray(texts)
      ? texts.filter(isText).map((text) => ({
          reason: 'FieldValueInvalid',
          message: text,
          ...(field === 'non_field_errors' ? {} : { field }),
        }))
      : [],
  );
  const told = causes.map(({ field, message: what }) => (field === undefined ? what : `${field}: ${what}`)).join(' ');
  return {
    kind: 'Status',
    ...(told === '' ? {} : { message: told }),
    details: { causes: causes as unknown as JsonObject[] },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
