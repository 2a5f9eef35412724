import type { EndpointCall, EndpointResult } from './endpoint-call.ts';

/**
 * Assumed for an operation that has not answered yet: it bounds the memory of concurrent calls, and few clients have to
 * wait. Bytes.
 */
const unknownBytes = 2 * 1024 * 1024;
/** The text and its bytes. */
const copies = 2;

/**
 * The size of the last answer of each operation. A call starts only if there is memory for its answer, because an
 * answer cannot be refused once the handler has returned it.
 */
export class AnswerSizes {
  readonly #sizes = new Map<string, number>();

  /** The memory that a call takes: its body, which exists twice while it is forwarded, and its answer. Bytes. */
  expected(call: EndpointCall): number {
    return copies * ((call.body?.length ?? 0) + (this.#sizes.get(keyOf(call)) ?? unknownBytes));
  }

  learn(call: EndpointCall, { body = '', file }: EndpointResult): number {
    const { length } = file ?? body;
    this.#sizes.set(keyOf(call), length);
    return copies * length;
  }
}

/** Keys are mounted operations only, so their number is bounded. */
function keyOf({ plugin, operationId }: EndpointCall): string {
  return `${plugin}/${operationId}`;
}
