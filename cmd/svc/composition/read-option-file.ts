import { readSmallFile } from '#pkg/http/index';
import { OperatorError } from '../options/operator-error.ts';

/** The content of the file that an option names; undefined if it is larger. @throws OperatorError if it is unreadable */
export function readOptionFile(option: string, file: string, maxBytes: number): Promise<string | undefined> {
  return readSmallFile(file, maxBytes).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${option} cannot be read: ${file} (${error.code ?? error.message}).`, { cause: error });
  });
}
