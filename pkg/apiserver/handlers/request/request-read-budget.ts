import { uncountedBytes, type RequestContext } from '#pkg/http/index';
import type { ReadBudget } from '#pkg/storage/index';

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
export function requestReadBudget(context: Pick<RequestContext, 'bytes'>, copies = copiesOfAnswer): ReadBudget {
  let isCounted = false;
  return {
    owner: context.bytes.owner,
    admit: (size) => {
      isCounted = true;
      return context.bytes.admit(size * copies);
    },
    reportHeld: (size) => {
      isCounted ||= size > uncountedBytes;
      if (!isCounted) return;
      context.bytes.raiseTo(size * copies);
      context.bytes.lowerTo(size * copies);
    },
  };
}
