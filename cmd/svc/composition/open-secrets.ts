import type { DatabaseLog } from '#pkg/database/index';
import {
  openKeyRing,
  PrivateTokenError,
  SecretError,
  SecretKeyError,
  type AccessDatabase,
  type KeyRing,
} from '#pkg/access/index';
import { OperatorError } from '../options/operator-error.ts';
import type { Options } from '../options/option-table.ts';

/** The keys of the options, which fit the database; of a replica without one an empty ring. Throws OperatorError. */
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

/** For a command that does nothing without a key. */
export async function openNeededSecrets(database: AccessDatabase, options: Options): Promise<KeyRing> {
  const ring = await openSecrets(database, options);
  // Throws where there is none.
  await withSecretErrors(Promise.resolve().then(() => ring.primary));
  return ring;
}

/** Turns what an operator can mend of secrets and tokens into an OperatorError. */
export async function withSecretErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SecretKeyError || error instanceof SecretError || error instanceof PrivateTokenError)
      throw new OperatorError(error.message, { cause: error });
    throw error;
  }
}
