import type { EndpointCall, EndpointResult } from './endpoint-call.ts';

/**
 * For the answer of an operation that has given none yet: so many at once leave a server room, and few clients have to
 * wait. Bytes.
 */
const unknownBytes = 2 * 1024 * 1024;
/** Its text, and the bytes of it. */
const copies = 2;

/**
 * How large the answers of each operation are, by the last one: a call begins when there is room for its answer, which
 * nothing can hold back once it is given.
 */
export class AnswerSizes {
  readonly #sizes = new Map<string, number>();

  /** What a call takes of memory: its body, in the form in which it is passed on too, and its answer. */
  expected(call: EndpointCall): number {
    return copies * ((call.body?.length ?? 0) + (this.#sizes.get(keyOf(call)) ?? unknownBytes));
  }

  learn(call: EndpointCall, { body = '' }: EndpointResult): number {
    this.#sizes.set(keyOf(call), body.length);
    return copies * body.length;
  }
}

/** Of what is mounted, so there are no more of them than plugins declare. */
function keyOf({ plugin, operationId }: EndpointCall): string {
  return `${plugin}/${operationId}`;
}
