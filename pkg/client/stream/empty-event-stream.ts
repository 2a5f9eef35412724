import type { EventStream } from '#pkg/apimachinery/index';

/** The stream of a watch that was aborted before it started. */
export const emptyEventStream: EventStream<never> = {
  close: () => undefined,
  async *[Symbol.asyncIterator]() {},
};
