import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import type { TokenStore, TokenWriter } from './token-store.ts';

/** The one user there is until there are users: may do everything. */
export const adminUsername = 'admin';

export interface AdminTokenOptions {
  tokens: TokenStore;
  /** Where the token can be read on this machine, by this user only. */
  file: string;
  /** Given by the operator. */
  initial?: string | undefined;
}

/** What became of the file: made now, there already, or there but not known to this database. */
export type AdminTokenOutcome = 'written' | 'kept' | 'foreign';

/**
 * The administrator's first way in. Each start sees to it that the given token is known, and that the file holds a token:
 * the given one, or a fresh one. A token that is in the file already is not replaced, and one that was revoked is not revived.
 * Any number of processes may do so at once on one database.
 */
export function ensureAdminToken({ tokens, file, initial }: AdminTokenOptions): Promise<AdminTokenOutcome> {
  return tokens.exclusively(async (writer) => {
    const kept = await readToken(file);
    const isFirst = !(await writer.hasAny(adminUsername));
    if (initial !== undefined) await add(writer, initial);
    if (kept === undefined) return writeNew(writer, file, initial ?? newPersonalToken());
    // A new database under an old data folder.
    if (isFirst) await add(writer, kept);
    return (await writer.has(adminUsername, kept)) ? 'kept' : 'foreign';
  });
}

async function writeNew(writer: TokenWriter, file: string, token: string): Promise<AdminTokenOutcome> {
  await add(writer, token);
  await writeToken(file, token);
  return 'written';
}

function add(writer: TokenWriter, token: string): Promise<void> {
  return writer.add({ name: 'initial-admin-token', username: adminUsername, token });
}

/** Undefined where there is no file, or one without a token in it. */
async function readToken(file: string): Promise<string | undefined> {
  try {
    const token = (await readFile(file, 'utf8')).trim();
    return isPersonalToken(token) ? token : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all: a file of its own, flushed, then renamed. */
async function writeToken(file: string, token: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${token}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
