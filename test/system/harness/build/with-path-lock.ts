import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const pollIntervalMs = 250;
const lockTimeoutMs = 15 * 60_000;

/**
 * Runs `make`, which creates `path`, unless another process is doing so: then waits for it. Takes over from a dead
 * process. Only saves work: concurrent runs are harmless as long as each renames a complete result into place.
 */
export async function withPathLock(path: string, make: () => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const lock = `${path}.lock`;
  const deadline = performance.now() + lockTimeoutMs;
  while (!existsSync(path)) {
    if (await take(lock)) {
      try {
        if (!existsSync(path)) await make();
      } finally {
        await rm(lock, { force: true });
      }
      return;
    }
    if (!(await isHeld(lock))) await rm(lock, { force: true });
    else if (performance.now() > deadline)
      throw new Error(`${lock} is held for too long; is the process in it still at work?`);
    else await delay(pollIntervalMs);
  }
}

/** Created with a link, so that the lock file always contains the holder's id. */
async function take(lock: string): Promise<boolean> {
  const mine = `${lock}.${randomUUID()}`;
  await writeFile(mine, String(process.pid));
  try {
    await link(mine, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(mine, { force: true });
  }
}

async function isHeld(lock: string): Promise<boolean> {
  const text = await readFile(lock, 'utf8').catch(() => '');
  // The lock was released meanwhile: the next try takes it.
  if (text === '') return true;
  try {
    process.kill(Number(text), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
