import { join } from 'node:path';
import type { DatabaseLog } from '#pkg/database/index';
import { lockUntilCommit, type AccessDatabase } from '../access-database.ts';
import { checkRing, hasKeys } from './key-checks.ts';
import { KeyFile } from './key-file.ts';
import { KeyRing } from './key-ring.ts';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';

const LOCK = 'svc access.key_checks';

export interface KeyOptions {
  /** Of `svc.security.key`: keys separated by commas, the first the primary one. */
  keys?: string | undefined;
  /** Of `svc.security.key-file`; one of both at most. */
  keyFile?: string | undefined;
  /** Where `secret-key` is, and is made at the first start, if neither is given. */
  dataDir: string;
  /** Hears of a file that is replaced later and cannot be used. */
  log?: DatabaseLog;
}

/**
 * The keys of the options, proven to fit the database: another key would make secrets that nobody else can read. Any
 * number of processes may do so at once. Throws SecretKeyError, with neither file nor database changed, for keys that
 * do not fit or cannot be used. Where none is given, and the database has one, the ring is empty: a replica with a data
 * folder of its own can do all that needs no sealed secret.
 */
export function openKeyRing(database: AccessDatabase, options: KeyOptions): Promise<KeyRing> {
  return database.transaction(async (client) => {
    // Of two first starts with folders of their own, the second must see the first one's key.
    await lockUntilCommit(client, LOCK);
    const ring = readRing(options) ?? makeRing(options, await hasKeys(client));
    if (!ring.isEmpty) await checkRing(client, ring, ring.file?.path ?? 'svc.security.key');
    return ring;
  });
}

/** Undefined where no key was given and none is in the data folder. */
function readRing({ keys, keyFile, dataDir, log }: KeyOptions): KeyRing | undefined {
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

function makeRing({ dataDir, log }: KeyOptions, isUsedDatabase: boolean): KeyRing {
  const file = new KeyFile(defaultFile(dataDir));
  // Another key would make secrets that those who have the first cannot read.
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
