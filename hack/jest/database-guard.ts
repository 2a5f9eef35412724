import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { removeDatabase } from './abandoned-database.ts';

/**
 * A process next to the test run, in its own session: when its input ends, the run is over, and if that was killed,
 * this process stops and removes its PostgreSQL. Argument: the data folder.
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
    // Locked until the run has ended.
    await removeDatabase(dataDir).catch(() => undefined);
  }
}
