/** Thrown to a crashed process by its client; not a StatusError, so that no controller takes it for a response. */
export class CrashError extends Error {
  override readonly name = 'CrashError';
}
