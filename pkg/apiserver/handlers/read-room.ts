import type { RequestContext } from '#pkg/http/index';
import type { ReadRoom } from '#pkg/storage/index';

/** From a body in the database to the bytes that are sent: PostgreSQL's message, the text, the text with its revision, the answer. */
const copiesOfAnswer = 4;
/** Of an object that is changed: what is parsed of it counts by itself. */
export const copiesOfWrite = 2;
/** Bodies read at a time up to this size are not counted: their number is limited. */
const uncounted = 64 * 1024;

/** Reads of a request take their room in memory from its budget; `copies` of each body are there at a time. */
export function readRoom(context: Pick<RequestContext, 'bytes'>, copies = copiesOfAnswer): ReadRoom {
  let isCounted = false;
  return {
    admit: (size) => {
      isCounted = true;
      return context.bytes.admit(size * copies);
    },
    settle: (size) => {
      isCounted ||= size > uncounted;
      if (!isCounted) return;
      context.bytes.note(size * copies);
      context.bytes.lower(size * copies);
    },
  };
}
