import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './run-program.ts';

/**
 * The content of `postmaster.pid`. The file outlives a killed PostgreSQL, so the process may be gone or another one.
 */
export interface PidFile {
  readonly pid: number;
  /** The folder of its first unix socket. */
  readonly socketDirectory: string;
}

/** Reads `postmaster.pid`: process, data folder, start time, port, socket folder, and more, one per line. */
export async function readPidFile(pgdata: string): Promise<PidFile | undefined> {
  const text = await readFile(join(pgdata, 'postmaster.pid'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, socketDirectory: lines[4] ?? '' } : undefined;
}

/**
 * Whether the process is the postmaster of this data folder, by its command line, which no other process has:
 * PostgreSQL's own children rename themselves. Start times are not compared: they shift when the clock is set.
 */
export async function isPostmaster(pid: number, pgdata: string): Promise<boolean> {
  const words = await commandLine(pid);
  return (
    /(^|\/)postgres$/.test(words[0] ?? '') && words.some((word, index) => word === '-D' && words[index + 1] === pgdata)
  );
}

async function commandLine(pid: number): Promise<string[]> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return text.split('\0');
  }
  const text = await runProgram('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => '');
  return text.split(' ');
}

/**
 * Allows PostgreSQL to start although `postmaster.pid` names a running process that is not PostgreSQL; it would refuse
 * to. The file stays, because it also names the shared memory by which PostgreSQL notices survivors of the old server.
 * Its process id becomes ours: PostgreSQL treats a pid file of its own parent as stale.
 */
export async function disownPidFile(pgdata: string): Promise<void> {
  const file = join(pgdata, 'postmaster.pid');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/^\d+/, String(process.pid)));
}
