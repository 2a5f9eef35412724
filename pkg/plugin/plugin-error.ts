export interface PluginErrorOptions {
  /** CamelCase, for programs: the reason of the condition that tells of it. */
  reason: string;
  /** For people: what is wrong, where, and what to do. */
  message: string;
  cause?: unknown;
}

/** Why a plugin cannot be what it was asked to be: it becomes a condition of its Plugin object. */
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
