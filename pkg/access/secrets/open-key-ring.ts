import { join } from 'node:path';
import type { DatabaseLog } from '#pkg/database/index';
import { lockUntilCommit, type AccessDatabase } from '../access-database.ts';
import { checkRing, hasKeys } from './key-checks.ts';
import { KeyFile } from './key-file.ts';
import { KeyRing } from './key-ring.ts';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';

const lockName = 'svc access.key_checks';

export interface OpenKeyRingOptions {
  /** Value of `svc.security.key`: keys separated by commas, the first is the primary one. */
  keys?: string | undefined;
  /** Value of `svc.security.key-file`; set at most one of both. */
  keyFile?: string | undefined;
  /** Folder of the file `secret-key`, which the first start creates if neither is given. */
  dataDir: string;
  /** Logs a later change of the file that cannot be used. */
  log?: DatabaseLog;
}

/**
 * Returns the keys of the options after a check that they fit the database: with another key, other processes could not
 * read new secrets. Any number of processes may call it at the same time. Throws SecretKeyError, with file and database
 * unchanged, for keys that do not fit or cannot be used. If none is given, and the database has one, the ring is empty:
 * such a replica, with its own data folder, can do everything that needs no sealed secret.
 */
export function openKeyRing(database: AccessDatabase, options: OpenKeyRingOptions): Promise<KeyRing> {
  return database.transaction(async (client) => {
    // Two concurrent first starts with separate folders: the second must see the first one's key.
    await lockUntilCommit(client, lockName);
    const ring = readRing(options) ?? makeRing(options, await hasKeys(client));
    if (!ring.isEmpty) await checkRing(client, ring, ring.file?.path ?? 'svc.security.key');
    return ring;
  });
}

/** Undefined if no key was given and none is in the data folder. */
function readRing({ keys, keyFile, dataDir, log }: OpenKeyRingOptions): KeyRing | undefined {
  if (keys !== undefined) {
    if (keyFile !== undefined)
      throw new SecretKeyError('svc.security.key and svc.security.key-file are both set; leave one of them empty.');
    return new KeyRing(parseKeys(keys));
  }
  const file = new KeyFile(keyFile ?? defaultFile(dataDir));
  const held = file.read();
  if (held === undefined && keyFile !== undefined)
    throw new SecretKeyError(`There is no key file ${keyFile}; make one with: openssl rand -hex 32`);
  return held === undefined ? undefined : new KeyRing(held, file, log);
}

function makeRing({ dataDir, log }: OpenKeyRingOptions, isUsedDatabase: boolean): KeyRing {
  const file = new KeyFile(defaultFile(dataDir));
  // With a new key, processes that have the first one could not read new secrets.
  if (isUsedDatabase) return new KeyRing([], file, log);
  file.create();
  return new KeyRing(file.read() ?? [], file, log);
}

function parseKeys(text: string): SecretKey[] {
  return text.split(',').map((each) => {
    const key = SecretKey.parse(each.trim());
    if (key === undefined)
      throw new SecretKeyError(
        'svc.security.key is malformed: each key is 64 hexadecimal digits, several are separated by commas.',
      );
    return key;
  });
}

const defaultFile = (dataDir: string): string => join(dataDir, 'secret-key');
