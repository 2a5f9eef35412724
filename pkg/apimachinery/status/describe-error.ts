/** The parts of an error that may be logged or sent: its message, stack and cause. */
export interface ErrorDescription {
  type?: string;
  message: string;
  code?: string | number;
  /** The reason of a StatusError or another error that has one. */
  reason?: string;
  stack?: string;
  cause?: ErrorDescription;
  /** The first errors of an AggregateError. */
  errors?: ErrorDescription[];
}

export interface ErrorLimits {
  /** Characters of each message. Default 4000. */
  message?: number;
  /** Characters of each stack. Default 8000. */
  stack?: number;
}

const maxCauseDepth = 5;
const maxAggregateDepth = 1;
const maxErrors = 5;
/** Characters of a thrown value that is no error. */
const maxValueLength = 500;
/** Characters of each name and code. */
const maxNameLength = 200;
/** Characters of a message before the frames of a long stack. */
const maxHeadLength = 100;

/**
 * Describes an error without the properties that libraries attach, such as a database connection with its keys, or a
 * request with its headers. It accepts any thrown value, trusts no property of it, and never throws. Credentials in
 * texts are masked. A description may be described again.
 */
export function describeError(thrown: unknown, { message = 4000, stack = 8000 }: ErrorLimits = {}): ErrorDescription {
  return describe(thrown, 0, { message, stack });
}

function describe(thrown: unknown, depth: number, limits: Required<ErrorLimits>): ErrorDescription {
  try {
    const error = typeof thrown === 'object' && thrown !== null ? (thrown as Record<string, unknown>) : undefined;
    if (error === undefined) return { message: bounded(String(thrown), limits.message) };
    const { type, name, message, code, reason, stack, cause, errors } = error;
    if (typeof message !== 'string') return { message: `an object without a message: ${valueText(error)}` };
    const named = typeof name === 'string' ? name : type;
    const isDeepest = depth >= maxCauseDepth;
    return {
      ...(typeof named === 'string' ? { type: bounded(named, maxNameLength) } : {}),
      message: bounded(message, limits.message),
      ...(typeof code === 'string' ? { code: bounded(code, maxNameLength) } : typeof code === 'number' ? { code } : {}),
      ...(typeof reason === 'string' ? { reason: bounded(reason, limits.message) } : {}),
      ...(typeof stack === 'string' ? { stack: boundedStack(stack, limits.stack) } : {}),
      ...(cause === undefined || isDeepest ? {} : { cause: describe(cause, depth + 1, limits) }),
      ...(Array.isArray(errors) && depth <= maxAggregateDepth
        ? { errors: errors.slice(0, maxErrors).map((each) => describe(each, depth + 1, limits)) }
        : {}),
    };
  } catch {
    return { message: 'an error that cannot be shown' };
  }
}

const credentialName = /authorization|cookie|token|password|passwd|secret|api-?key|credential|signature/i;

/** The thrown value as JSON, with properties masked whose names suggest a credential. */
function valueText(value: object): string {
  const text =
    JSON.stringify(value, (key, each: unknown) =>
      credentialName.test(key) ? '***' : typeof each === 'bigint' ? String(each) : each,
    ) ?? '';
  return bounded(text, maxValueLength);
}

/** The text with credentials masked that clients and URLs leave in messages. */
export function maskCredentials(text: string): string {
  return text
    .replaceAll(/\b([Bb]earer|[Bb]asic)\s+(?=\S*(?:[0-9=]|[a-z][A-Z]))\S{8,}/g, '$1 ***')
    .replaceAll(/\bpat_[0-9A-Za-z]{8,}/g, 'pat_***')
    .replaceAll(/:\/\/[^\s/@:]*:[^\s/@]+@/g, '://***@');
}

/** Characters checked beyond the limit, so that a credential that begins before the limit is masked. */
const overlap = 200;

function bounded(text: string, longest: number): string {
  const masked = maskCredentials(text.slice(0, longest + overlap));
  return masked.length > longest ? `${masked.slice(0, longest)}...` : masked;
}

/** A stack begins with the message: if it is too long, the message is shortened, because the frames are more useful. */
function boundedStack(stack: string, longest: number): string {
  const frames = stack.length > longest ? stack.indexOf('\n    at ') : -1;
  return frames < maxHeadLength
    ? bounded(stack, longest)
    : bounded(`${bounded(stack.slice(0, frames), maxHeadLength)}${stack.slice(frames)}`, longest);
}
