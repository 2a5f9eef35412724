import {
  isJsonObject,
  parseJson,
  parseRetryAfter,
  statusErrorFrom,
  type JsonObject,
  type StatusError,
} from '#pkg/apimachinery/index';

/**
 * The failure that an answer tells, in either service's dialect: a Status of the content platform, or `{detail, code}`,
 * `{field: [texts]}` or `{error, msg}` of access management.
 */
export function failureOf({ status: code, headers }: Response, text: string): StatusError {
  const body = parseJson(text);
  const told: Told = !isJsonObject(body) ? {} : body['kind'] === 'Status' ? body : statusOf(body);
  const retryAfterSeconds = parseRetryAfter(headers.get('retry-after') ?? undefined);
  const details = retryAfterSeconds === undefined ? told.details : { retryAfterSeconds, ...(told.details as object) };
  const requestId = headers.get('x-request-id') ?? undefined;
  return statusErrorFrom({ ...told, kind: 'Status', details }, { code, requestId });
}

/** A Status, or as much of one as an answer tells. */
interface Told {
  message?: unknown;
  details?: unknown;
}

/** What access management says; each of its fields becomes a cause. */
function statusOf(body: JsonObject): Told {
  const { detail, code, msg, error } = body;
  const message = detail ?? msg;
  if (typeof message === 'string') return { message, details: { causes: [{ reason: code ?? error, message }] } };
  const causes = Object.entries(body).flatMap(([name, texts]) => {
    const field = name === 'non_field_errors' ? undefined : name;
    return !Array.isArray(texts)
      ? []
      : texts.filter(isText).map((text) => ({ reason: 'FieldValueInvalid', message: text, field }));
  });
  const lines = causes.map(({ field, message: text }) => (field === undefined ? text : `${field}: ${text}`));
  return { message: lines.length === 0 ? undefined : lines.join(' '), details: { causes } };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
