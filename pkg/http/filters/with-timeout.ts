import { newTimeout } from '#pkg/apimachinery/index';
import { hasBody, newBodyTimeout } from '../request/read-body.ts';
import type { Filter, RequestContext } from '../request/request-context.ts';

/**
 * Answers 504 if no answer has begun after `timeoutMs` (default 30 s), or 408 if the body has not arrived, and aborts
 * the request's signal so that its work stops. Watches have no such limit; for an answer that has begun `writeChunk`
 * limits the time. Nothing is written twice: what the handler sends after the timeout is dropped.
 */
export function withTimeout({ timeoutMs = 30_000 }: { timeoutMs?: number } = {}): Filter {
  const deadlines = new Deadlines(timeoutMs);
  return (next) => (context) => {
    if (context.info.isResourceRequest && context.info.verb === 'watch') return next(context);
    return new Promise((resolve, reject) => {
      const deadline: Deadline = { at: 0, context, reject };
      deadlines.add(deadline);
      const work = async (): Promise<void> => {
        try {
          await next(context);
          resolve();
        } catch (error) {
          if (context.response.writableEnded) context.log.debug({ err: error }, 'a request failed after its answer');
          reject(error);
        } finally {
          deadlines.remove(deadline);
        }
      };
      void work();
    });
  };
}

interface Deadline {
  /** By `performance.now()`. */
  at: number;
  context: RequestContext;
  readonly reject: (reason: Error) => void;
}

/**
 * All timeouts are equal, so they expire in the order in which they began and one timer serves all requests. One timer
 * each would cost as much as the rest of the filters.
 */
class Deadlines {
  readonly #timeoutMs: number;
  readonly #running = new Set<Deadline>();
  #isArmed = false;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(deadline: Deadline): void {
    deadline.at = performance.now() + this.#timeoutMs;
    this.#running.add(deadline);
    if (!this.#isArmed) this.#arm(this.#timeoutMs);
  }

  remove(deadline: Deadline): void {
    this.#running.delete(deadline);
  }

  /** Fires once more after the last request; it does not keep the process alive. */
  #arm(ms: number): void {
    this.#isArmed = true;
    setTimeout(() => this.#expire(), Math.max(1, ms)).unref();
  }

  #expire(): void {
    this.#isArmed = false;
    const now = performance.now();
    for (const deadline of this.#running) {
      if (deadline.at > now) {
        this.#arm(deadline.at - now);
        return;
      }
      this.#running.delete(deadline);
      this.#end(deadline);
    }
  }

  #end({ context, reject }: Deadline): void {
    const { request, response } = context;
    if (response.headersSent || response.destroyed) return;
    const waitsForBody = !request.complete && hasBody(request.headers);
    const failure = waitsForBody
      ? newBodyTimeout(this.#timeoutMs)
      : newTimeout(`Timeout: the request was not done within ${this.#timeoutMs / 1000} s`);
    context.abort(failure);
    reject(failure);
  }
}
