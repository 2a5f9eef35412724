import { isFenceLost, isStatusError, type StatusReason } from '#pkg/apimachinery/index';
import { isPluginError } from '../../plugin-error.ts';
import type { ConditionChanges, PluginConditionType } from '../record/plugin-conditions.ts';

/** Why a start failed, and the condition that reports it. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
  readonly condition: PluginConditionType;
  readonly reason: string;

  constructor(condition: PluginConditionType, reason: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.condition = condition;
    this.reason = reason;
  }

  get change(): ConditionChanges {
    return { [this.condition]: { isTrue: false, reason: this.reason, message: this.message } };
  }
}

/** Runs one step of a start; an error fails `condition`. A lost fence is not a failure of the plugin. */
export async function step<T>(condition: PluginConditionType, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartFailure || isFenceLost(error)) throw error;
    throw new StartFailure(condition, reasonOf(error), error instanceof Error ? error.message : String(error), error);
  }
}

/** Reasons that may pass on a retry without any change. */
const transientReasonsOfStart: ReadonlySet<StatusReason> = new Set([
  'Conflict',
  'AlreadyExists',
  'NotFound',
  'Expired',
  'TooManyRequests',
  'Timeout',
  'Unauthorized',
]);

/**
 * An error that the API will always return for this plugin, such as a too large status, is a failure of its start;
 * other errors stay unchanged.
 */
export function asStartFailure(error: unknown): unknown {
  if (!isStatusError(error) || isFenceLost(error) || error.code >= 500 || transientReasonsOfStart.has(error.reason))
    return error;
  return new StartFailure('Healthy', error.reason, `what it brings cannot be stored: ${error.message}`, error);
}

function reasonOf(error: unknown): string {
  return isPluginError(error) || isStatusError(error) ? error.reason : 'InternalError';
}
