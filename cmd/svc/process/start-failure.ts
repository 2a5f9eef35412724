import { databaseFailure, DatabaseError, failureSentence } from '#pkg/database/index';
import { StorageError } from '#pkg/storage/index';
import { OperatorError } from '../options/operator-error.ts';
import type { OptionName } from '../options/option-table.ts';

const meanings: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it',
  EPERM: 'this user may not do that',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'something else has that name',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

const tableInUse =
  'A migration must change a table of the platform, and a long transaction uses it, for example a backup or a dump; start again when that transaction is over.';

/** The message for a failure that an operator can fix; undefined for a fault of the program itself. */
export function explainStartFailure(error: unknown): string | undefined {
  if (error instanceof OperatorError || error instanceof DatabaseError) return error.message;
  if (error instanceof StorageError && error.code === 'TableInUse') return tableInUse;
  const { code, path } = error as NodeJS.ErrnoException;
  if (path !== undefined)
    return code !== undefined && Object.hasOwn(meanings, code)
      ? `${path} cannot be used: ${meanings[code]} (${code}).`
      : undefined;
  const failure = error instanceof StorageError ? error.cause : error;
  const named = databaseFailure(failure);
  return named === undefined
    ? undefined
    : `The start failed: ${failureSentence(named)} (${(failure as Error).message}). Start again when that is over.`;
}

/** What a failed `listen` means; `named` are the options that the address comes from. */
export function explainListenFailure(
  error: unknown,
  { host, port }: { host: string; port: number },
  named: { host: OptionName; port: OptionName },
): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} on ${host} is in use by another program; stop that, or choose another port with --${named.port}.`,
    EACCES: `This user may not listen on port ${port}; choose one from 1024 on with --${named.port}.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; correct ${named.host}.`,
    ENOTFOUND: `The host name ${host} is unknown; correct ${named.host}.`,
    EAI_AGAIN: `The host name ${host} cannot be looked up; correct ${named.host}.`,
  };
  const sentence = code !== undefined && Object.hasOwn(sentences, code) ? sentences[code] : undefined;
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}
