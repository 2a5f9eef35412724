import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseAway } from '#pkg/database/index';

const pauseMs = 100;

/**
 * What `work` answers; it is done again where it fails as the database went away. Past `limitMs` its failure is thrown.
 */
export async function retryWhileAway<T>(limitMs: number, work: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + limitMs; ; await delay(pauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > deadline) throw error;
    }
  }
}
