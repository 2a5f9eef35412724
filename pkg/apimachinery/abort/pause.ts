import { setTimeout as delay } from 'node:timers/promises';

export interface PauseOptions {
  /** Does the pause keep the process running? Default: yes. */
  ref?: boolean;
}

/** Resolves after the time, or as soon as `signal` fires. Never rejects. */
export async function pause(ms: number, signal?: AbortSignal, { ref = true }: PauseOptions = {}): Promise<void> {
  await delay(ms, undefined, { ref, ...(signal === undefined ? {} : { signal }) }).catch(() => undefined);
}
