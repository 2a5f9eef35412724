import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { removeDatabase } from './abandoned-database.ts';

/**
 * A process beside the test run, in a session of its own: when its input ends, the run is over, and if that was killed
 * its PostgreSQL is stopped and removed here. Argument: the data folder.
 */
const dataDir = process.argv[2]!;
const limitMs = 60_000;

process.stdin.resume().once('close', () => void remove());

async function remove(): Promise<void> {
  for (
    const deadline = performance.now() + limitMs;
    existsSync(dataDir) && performance.now() < deadline;
    await delay(100)
  ) {
    // It is locked until the run is gone.
    await removeDatabase(dataDir).catch(() => undefined);
  }
}
