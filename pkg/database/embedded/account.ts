import { runProgram, type Account } from './run-program.ts';

/**
 * The account of PostgreSQL if this process is root, which PostgreSQL refuses: `postgres` if that user exists, else
 * `nobody`. Undefined if this process is not root: PostgreSQL then runs as the same user. No user is created.
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

/** Whether the account can enter a folder. The kernel decides, so all parents, ACLs and mounts count. */
export async function canEnter(folder: string, account: Account | undefined): Promise<boolean> {
  try {
    await runProgram('test', ['-x', folder], account);
    return true;
  } catch {
    return false;
  }
}
