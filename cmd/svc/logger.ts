import { pino, type Logger } from 'pino';

/** One JSON object a line, on stdout unless another file descriptor is given, written before the call returns: the last words before an exit arrive. What is logged never holds a secret. */
export function newLogger(level: string, dest = 1): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: describeError },
  };
  return pino(options, pino.destination({ dest, sync: true }));
}

const DEEPEST_CAUSE = 5;

/** What an error says, and nothing that libraries hang on it: a database connection among them, keys and all. */
export function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    type: name,
    message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack,
    ...(cause === undefined || depth === DEEPEST_CAUSE ? {} : { cause: describeError(cause, depth + 1) }),
  };
}
