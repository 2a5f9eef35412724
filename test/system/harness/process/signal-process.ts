import { readFile } from 'node:fs/promises';

/** Signals a process that may have ended. False if it has. */
export function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** The process ids of the children of a process; none if it has ended. */
export async function childrenOf(parent: number): Promise<number[]> {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}
