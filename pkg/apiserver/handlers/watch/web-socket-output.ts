import { beginAnswer, type RequestContext, type WebSocketConnection } from '#pkg/http/index';
import type { WatchEnd, WatchOutput } from './watch-output.ts';

/** The close frame of each end. Source: RFC 6455, 7.4.1; Kubernetes sends 1000 at every end that it begins. */
const closeFrames: Record<WatchEnd, { code: number; reason: string }> = {
  over: { code: 1000, reason: '' },
  shutdown: { code: 1001, reason: 'the server is shutting down' },
  slow: { code: 1008, reason: 'the client reads too slowly, or does not answer pings' },
};

/** A WebSocket; each event is one text message. */
export class WebSocketOutput implements WatchOutput {
  readonly #context: RequestContext;
  readonly #onRefused: () => void;
  readonly #onDrain = new Set<() => void>();
  /** Undefined until the watch begins, and if the client is gone by then. */
  #connection: WebSocketConnection | undefined;
  #readAtBeat = -1;

  /** `onRefused`: the client sent what it must not send. */
  constructor(context: RequestContext, { onRefused }: { onRefused: () => void }) {
    this.#context = context;
    this.#onRefused = onRefused;
  }

  get unread(): number {
    return this.#connection?.unread ?? 0;
  }

  get needsDrain(): boolean {
    return this.#connection?.needsDrain === true;
  }

  get isUnanswered(): boolean {
    return this.#connection?.bytesRead === this.#readAtBeat;
  }

  begin(): void {
    beginAnswer(this.#context, 101, undefined);
    this.#connection = this.#context.webSocket?.accept(this.#onRefused);
    for (const listener of this.#onDrain) this.#connection?.onDrain(listener);
  }

  write(event: Buffer): void {
    this.#connection?.send(event);
  }

  flush(): void {
    // Nothing holds back what was sent.
  }

  beat(): void {
    this.#readAtBeat = this.#connection?.bytesRead ?? -1;
    this.#connection?.ping();
  }

  end(end: WatchEnd): void {
    const { code, reason } = closeFrames[end];
    this.#connection?.close(code, reason);
  }

  destroy(): void {
    if (this.#connection === undefined) this.#context.response.destroy();
    else this.#connection.destroy();
  }

  onDrain(listener: () => void): void {
    this.#onDrain.add(listener);
    this.#connection?.onDrain(listener);
  }

  offDrain(listener: () => void): void {
    this.#onDrain.delete(listener);
    this.#connection?.offDrain(listener);
  }
}
