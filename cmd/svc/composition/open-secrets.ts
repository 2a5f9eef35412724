import type { Logger } from 'pino';
import type { DatabaseLog } from '#pkg/database/index';
import {
  openKeyRing,
  PrivateTokenError,
  SecretError,
  SecretKeyError,
  ServiceTokenError,
  type AccessDatabase,
  type KeyRing,
} from '#pkg/access/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';

/**
 * The keys of the options, which must fit the database; for a replica without a key an empty ring. Throws
 * OperatorError.
 */
export function openSecrets(database: AccessDatabase, options: Options, log?: DatabaseLog): Promise<KeyRing> {
  return withSecretErrors(
    openKeyRing(database, {
      keys: options['svc.security.key'],
      keyFile: options['svc.security.key-file'],
      dataDir: options['svc.data.dir'],
      ...(log === undefined ? {} : { log }),
    }),
  );
}

/** For a server: without a key it starts, and logs what does not work. */
export async function openServerSecrets(database: AccessDatabase, options: Options, log: Logger): Promise<KeyRing> {
  const keys = await openSecrets(database, options, log);
  if (keys.isEmpty)
    log.warn(
      { file: keys.file?.path },
      'no key for secrets: access keys, private tokens and objects of kind Secret do not work until the key of this database is in this file or in svc.security.key',
    );
  return keys;
}

/** For a command that needs a key. */
export async function openNeededSecrets(database: AccessDatabase, options: Options): Promise<KeyRing> {
  const ring = await openSecrets(database, options);
  // Throws if the ring is empty.
  await withSecretErrors(Promise.resolve().then(() => ring.primary));
  return ring;
}

/** Translates errors of secrets and tokens that an operator can fix to OperatorError. */
export async function withSecretErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if ([SecretKeyError, SecretError, PrivateTokenError, ServiceTokenError].some((type) => error instanceof type))
      throw new OperatorError((error as Error).message, { cause: error });
    throw error;
  }
}
