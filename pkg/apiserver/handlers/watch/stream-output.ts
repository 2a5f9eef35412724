import type { ServerResponse } from 'node:http';
import { beginAnswer, type RequestContext } from '#pkg/http/index';
import type { WatchFormat } from './watch-format.ts';
import type { WatchOutput } from './watch-output.ts';

/** The body of an answer, in chunks. */
export class StreamOutput implements WatchOutput {
  readonly isUnanswered = undefined;
  readonly #context: RequestContext;
  readonly #format: Pick<WatchFormat, 'contentType' | 'heartbeat'>;
  readonly #response: ServerResponse;

  constructor(context: RequestContext, format: Pick<WatchFormat, 'contentType' | 'heartbeat'>) {
    this.#context = context;
    this.#format = format;
    this.#response = context.response;
  }

  get unread(): number {
    return this.#response.writableLength;
  }

  get needsDrain(): boolean {
    return this.#response.writableNeedDrain;
  }

  begin(): void {
    const { contentType } = this.#format;
    // X-Accel-Buffering is for nginx, which would buffer the events otherwise.
    beginAnswer(this.#context, 200, { 'Content-Type': contentType, 'X-Accel-Buffering': 'no', Vary: 'Accept' });
    this.#response.flushHeaders();
  }

  write(event: Buffer): void {
    this.#response.write(event);
  }

  flush(): void {
    this.#response.socket?.uncork();
  }

  beat(isSilent: boolean): void {
    if (isSilent) this.#response.write(this.#format.heartbeat);
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }

  onDrain(listener: () => void): void {
    this.#response.on('drain', listener);
  }

  offDrain(listener: () => void): void {
    this.#response.off('drain', listener);
  }
}
