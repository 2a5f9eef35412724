import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { signalTo } from './postmaster.ts';

const timeoutMs = 2_000;
const pollIntervalMs = 20;

/**
 * Ends the processes that a killed PostgreSQL left behind. A backend in a long computation does not notice that its
 * postmaster is gone, and while it holds the shared memory no new PostgreSQL can start. The caller must know that no
 * postmaster runs on this folder. Without /proc to find them, idle ones get a second to notice.
 */
export async function endSurvivors(pgdata: string): Promise<void> {
  if (process.platform !== 'linux') {
    await delay(1_000);
    return;
  }
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    for (const pid of await listSurvivors(pgdata)) signalTo(pid, signal);
    const deadline = Date.now() + timeoutMs;
    while ((await listSurvivors(pgdata)).length > 0 && Date.now() < deadline) await delay(pollIntervalMs);
  }
}

/**
 * PostgreSQL's processes have the data folder as working directory, and all but the postmaster name themselves
 * `postgres: ...`.
 */
async function listSurvivors(pgdata: string): Promise<number[]> {
  const names = await readdir('/proc');
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const checked = await Promise.all(pids.map(async (pid) => ((await isSurvivor(pid, pgdata)) ? [pid] : [])));
  return checked.flat();
}

async function isSurvivor(pid: number, pgdata: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== pgdata) return false;
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).startsWith('postgres: ');
  } catch {
    return false;
  }
}
