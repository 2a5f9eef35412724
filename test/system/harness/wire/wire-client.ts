import { connect, type Socket } from 'node:net';
import type { WireRequest } from './wire-request.ts';
import { AnswerReader, MalformedAnswerError } from './answer-reader.ts';
import type { Answer } from './answer.ts';
import { encodeRequest } from './encode-request.ts';

/** The result of one request. */
export interface Outcome {
  /** One for a request; any number for raw bytes. */
  answers: readonly Answer[];
  /** Why there is no complete response. */
  failure?: 'closed' | 'silent' | 'refused' | { malformed: string };
  /** CLOCK_MONOTONIC in milliseconds, comparable between processes. */
  began: number;
  ended: number;
}

export interface WireClientOptions {
  port: number;
  token: string;
  /** Timeout for a response, or for the end of the connection. Milliseconds. */
  limitMs: number;
  /** The same for a request that tests timeouts. */
  slowLimitMs: number;
}

/** How long a stream is read after its head. Milliseconds. */
const streamMs = 20;
/** After this silence the server counts as waiting for more raw bytes. Milliseconds. */
const quietMs = 40;

/** Sends requests over raw sockets, so that no library corrects them; keeps connections if the response allows it. */
export class WireClient {
  readonly #options: WireClientOptions;
  readonly #idle: Socket[] = [];

  constructor(options: WireClientOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async send(request: WireRequest, slow = false): Promise<Outcome> {
    const isRaw = request.raw !== undefined;
    const kept = isRaw ? undefined : this.#takeIdle();
    const outcome = await this.#exchange(request, kept ?? (await open(this.#options.port)), slow);
    // The server may have closed the keep-alive connection just before; then it has read nothing.
    if (kept !== undefined && outcome.failure === 'closed' && outcome.answers.length === 0)
      return this.#exchange(request, await open(this.#options.port), slow);
    return outcome;
  }

  close(): void {
    for (const socket of this.#idle.splice(0)) socket.destroy();
  }

  #takeIdle(): Socket | undefined {
    for (;;) {
      const socket = this.#idle.pop();
      if (socket === undefined || (!socket.destroyed && socket.readable)) return socket;
    }
  }

  #exchange(request: WireRequest, socket: Socket | undefined, slow: boolean): Promise<Outcome> {
    const began = monotonicMs();
    if (socket === undefined) return Promise.resolve({ answers: [], failure: 'refused', began, ended: began });
    return new Promise((resolve) => {
      const { raw, ending = 'close', stream, method } = request;
      const reader = new AnswerReader(raw === undefined ? [method] : methodsIn(raw));
      let streaming: NodeJS.Timeout | undefined;
      let quiet: NodeJS.Timeout | undefined;
      const settle = (failure?: Outcome['failure']): void => {
        clearTimeout(timer);
        clearTimeout(streaming);
        clearTimeout(quiet);
        socket.removeAllListeners();
        // An abandoned connection may still fail.
        socket.on('error', () => socket.destroy());
        const answers =
          stream === true && reader.partial !== undefined ? [...reader.answers, reader.partial] : reader.answers;
        if (failure === undefined && raw === undefined && mayBeKept(answers)) this.#keep(socket);
        else socket.destroy();
        resolve({ answers, ...(failure === undefined ? {} : { failure }), began, ended: monotonicMs() });
      };
      const timer = setTimeout(() => settle('silent'), slow ? this.#options.slowLimitMs : this.#options.limitMs);
      const attempt = (step: () => void): void => {
        try {
          step();
        } catch (error) {
          settle({ malformed: error instanceof MalformedAnswerError ? error.message : String(error) });
        }
      };
      socket.on('data', (bytes) =>
        attempt(() => {
          reader.take(bytes);
          // A WebSocket must not lose its sending side before it is open.
          if (raw !== undefined && stream === true) quiet ??= setTimeout(() => socket.end(), quietMs);
          quiet?.refresh();
          if (raw !== undefined && ending !== 'first answer') return;
          if (reader.answers.length > 0)
            settle(raw === undefined && reader.hasMore ? { malformed: 'bytes after an answer' } : undefined);
          else if (stream === true && reader.partial !== undefined) streaming ??= setTimeout(settle, streamMs);
        }),
      );
      socket.on('error', () => settle(raw !== undefined || reader.answers.length > 0 ? undefined : 'closed'));
      socket.on('close', () =>
        attempt(() => {
          reader.end();
          settle(raw === undefined && reader.answers.length === 0 ? 'closed' : undefined);
        }),
      );
      for (const piece of encodeRequest(request, this.#options.token)) socket.write(piece);
      if (raw !== undefined && ending === 'close' && stream !== true) quiet = setTimeout(() => socket.end(), quietMs);
    });
  }

  #keep(socket: Socket): void {
    socket.on('close', () => {
      const at = this.#idle.indexOf(socket);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    this.#idle.push(socket);
  }
}

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function open(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', () => resolve(undefined));
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
  });
}

function mayBeKept(answers: readonly Answer[]): boolean {
  const [answer] = answers;
  return answer?.complete === true && answer.headers.get('connection')?.[0]?.toLowerCase() !== 'close';
}

/** The methods of pipelined requests, as far as possible: only HEAD matters. */
function methodsIn(raw: readonly Buffer[]): string[] {
  return (
    Buffer.concat(raw)
      .toString('latin1')
      .match(/^[A-Z]+(?= +\S)/gm) ?? []
  );
}
