import { runProgram, type Account } from './run-program.ts';

/**
 * Who PostgreSQL runs as when we are root, which it refuses to run as: `postgres` where that user exists, else
 * `nobody`. Undefined when we are not root: then PostgreSQL runs as ourselves. Nothing is added to the system.
 */
export async function postgresAccount(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  return (await lookUp('postgres')) ?? (await lookUp('nobody'));
}

async function lookUp(name: string): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([runProgram('id', ['-u', name]), runProgram('id', ['-g', name])]);
    return { uid: Number(uid), gid: Number(gid) };
  } catch {
    return undefined;
  }
}

/** Whether the account can enter a folder, asked of the kernel, so that every parent, access list and mount counts. */
export async function canEnter(folder: string, account: Account | undefined): Promise<boolean> {
  try {
    await runProgram('test', ['-x', folder], account);
    return true;
  } catch {
    return false;
  }
}
