import { uncountedBytes, type RequestContext } from '#pkg/http/index';
import type { ReadRoom } from '#pkg/storage/index';

/**
 * From a body in the database to the bytes that are sent: PostgreSQL's message, the text, the text with its revision,
 * the answer.
 */
const copiesOfAnswer = 4;
/** Of an object that is changed: what is parsed of it counts by itself. */
export const copiesOfWrite = 2;
/** Of a change that was before a watch: both states are there, and what is sent of them. */
export const copiesOfReplay = 2;

/** Reads of a request take their room in memory from its budget; `copies` of each body are there at a time. */
export function readRoom(context: Pick<RequestContext, 'bytes'>, copies = copiesOfAnswer): ReadRoom {
  let isCounted = false;
  return {
    owner: context.bytes.owner,
    admit: (size) => {
      isCounted = true;
      return context.bytes.admit(size * copies);
    },
    settle: (size) => {
      isCounted ||= size > uncountedBytes;
      if (!isCounted) return;
      context.bytes.note(size * copies);
      context.bytes.lower(size * copies);
    },
  };
}
