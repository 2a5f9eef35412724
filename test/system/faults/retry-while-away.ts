import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseUnreachable } from '#pkg/database/index';

const pauseMs = 100;

/** Retries `work` while it fails because the database is unavailable. After `limitMs` it throws the last failure. */
export async function retryWhileAway<T>(limitMs: number, work: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + limitMs; ; await delay(pauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseUnreachable(error) || performance.now() > deadline) throw error;
    }
  }
}
