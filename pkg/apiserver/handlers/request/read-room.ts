import { uncountedBytes, type RequestContext } from '#pkg/http/index';
import type { ReadRoom } from '#pkg/storage/index';

/**
 * Copies of a body between the database and the response: PostgreSQL's message, the text, the text with its revision,
 * the response.
 */
const copiesOfAnswer = 4;
/** Copies of an object that is changed. Its parsed form is counted separately. */
export const copiesOfWrite = 2;
/** Copies of a change that is replayed to a watch: both states and the event that is sent. */
export const copiesOfReplay = 2;

/** Reserves memory for a request's reads from its budget. `copies` of each body exist at a time. */
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
