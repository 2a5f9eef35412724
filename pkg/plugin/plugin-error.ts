export interface PluginErrorOptions {
  /** CamelCase, for programs: the reason of the condition that reports it. */
  reason: string;
  /** Human-readable: what is wrong, where, and how to fix it. */
  message: string;
  cause?: unknown;
}

/** A problem with a plugin, reported as a condition of its Plugin object. */
export class PluginError extends Error {
  readonly reason: string;

  constructor({ reason, message, cause }: PluginErrorOptions) {
    super(message, cause === undefined ? {} : { cause });
    this.name = 'PluginError';
    this.reason = reason;
  }
}

export function isPluginError(error: unknown): error is PluginError {
  return error instanceof PluginError;
}
