import { isStatusError, type StatusReason } from '#pkg/apimachinery/index';

const raced: ReadonlySet<StatusReason> = new Set(['Conflict', 'AlreadyExists', 'NotFound']);

/** The result of a write; undefined if another process was faster. @throws other errors */
export async function unlessRaced<Result>(write: Promise<Result>): Promise<Result | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isStatusError(error) && raced.has(error.reason)) return undefined;
    throw error;
  }
}
