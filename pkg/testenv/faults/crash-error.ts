/**
 * The process that made this call is dead, as far as the API can tell; no StatusError, so that no controller takes it
 * for an answer.
 */
export class CrashError extends Error {
  override readonly name = 'CrashError';
}
