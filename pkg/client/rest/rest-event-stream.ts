import type { IncomingMessage } from 'node:http';
import { readClientEvent, type AnyObject, type ClientEvent, type EventStream } from '#pkg/apimachinery/index';
import { requestIdOf } from './read-answer.ts';
import { readLines } from './read-lines.ts';
import type { RestLimits } from './rest-limits.ts';

/**
 * The events of one watch. Events that the reader does not take stay in the connection, and the server ends a watch
 * that is not read.
 */
export class RestEventStream<T extends AnyObject> implements EventStream<T> {
  readonly #response: IncomingMessage;
  readonly #limits: RestLimits;
  #closed = false;

  /** `release` is called once, when the connection has ended for any reason. */
  constructor(response: IncomingMessage, limits: RestLimits, release: () => void) {
    this.#response = response;
    this.#limits = limits;
    response.once('close', release);
  }

  close(): void {
    this.#closed = true;
    this.#response.destroy();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ClientEvent<T>> {
    const { maxEventBytes, idleTimeoutMs } = this.#limits;
    try {
      for await (const lines of readLines(this.#response, { maxBytes: maxEventBytes, idleTimeoutMs })) {
        for (const line of lines) {
          if (this.#closed) return;
          yield readClientEvent<T>(line, requestIdOf(this.#response));
        }
      }
    } finally {
      this.close();
    }
  }
}
