import { chown, mkdtemp, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseError } from '../database-error.ts';
import { canEnter } from './account.ts';
import type { Account } from './run-program.ts';

/** The longest address of a unix socket on every system, without the closing zero byte. */
const maxPathBytes = 103;

/**
 * Creates the folder of the unix socket: a short path under the temporary folder, new each time, open only to
 * PostgreSQL's user (and root). It protects the database from other local users, so its name must not be one that
 * another user could create first.
 */
export async function makeSocketDirectory(account: Account | undefined): Promise<string> {
  for (const base of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    const fits = Buffer.byteLength(join(base, 'svc-pg-XXXXXX', '.s.PGSQL.5432')) <= maxPathBytes;
    if (!fits || !(await canEnter(base, account))) continue;
    const folder = await mkdtemp(join(base, 'svc-pg-')).catch(() => undefined);
    if (folder === undefined) continue;
    if (account !== undefined) await chown(folder, account.uid, account.gid);
    return folder;
  }
  throw new DatabaseError(
    'No temporary folder can hold the socket of PostgreSQL: its path must be short, and the database user must be able to enter it.',
  );
}

/**
 * Removes a folder created here and the files of PostgreSQL in it, but nothing else; a missing folder, or any other, is
 * left alone.
 */
export async function removeSocketDirectory(folder: string): Promise<void> {
  if (!/\/svc-pg-\w{6}$/.test(folder)) return;
  for (const name of ['.s.PGSQL.5432', '.s.PGSQL.5432.lock']) await rm(join(folder, name), { force: true });
  await rmdir(folder).catch(() => {});
}
