import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { retryUntilTrue } from '../harness/retry-until-true.ts';
import { signalProcess } from '../harness/process/signal-process.ts';

const stopTimeoutMs = 20_000;

/** Stops every PostgreSQL with data below a folder: an embedded one survives a killed program. */
export async function stopPostgresBelow(home: string): Promise<void> {
  for (const pidFile of await pidFiles(home)) {
    const [pid, dataDir] = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n');
    if (dataDir?.startsWith(home) !== true || !signal(Number(pid), 'SIGINT')) continue;
    await retryUntilTrue(() => !signal(Number(pid), 0), {
      what: `PostgreSQL ${pid} has stopped`,
      timeoutMs: stopTimeoutMs,
    }).catch(() => signal(Number(pid), 'SIGKILL'));
  }
}

/** `<check>/<folder>/pgdata-18/postmaster.pid`. */
async function pidFiles(home: string): Promise<string[]> {
  let folders = [home];
  for (let depth = 0; depth < 3; depth += 1) {
    const below = await Promise.all(folders.map((folder) => readdir(folder, { withFileTypes: true }).catch(() => [])));
    folders = below.flatMap((entries, index) =>
      entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folders[index]!, name)),
    );
  }
  return folders.map((folder) => join(folder, 'postmaster.pid'));
}

/** False if the process does not exist. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  return Number.isSafeInteger(pid) && pid > 1 && signalProcess(pid, name);
}
