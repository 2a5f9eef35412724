import type { EventStream } from '#pkg/apimachinery/index';

/** The stream of a watch that was given up before it began. */
export const emptyEventStream: EventStream<never> = {
  close: () => undefined,
  async *[Symbol.asyncIterator]() {},
};
