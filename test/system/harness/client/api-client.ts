import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface ApiClientOptions {
  /** Without it, requests are anonymous unless they have the header themselves. */
  token?: string | undefined;
  /** Default 45 s: longer than a server's own request timeout. */
  timeoutMs?: number;
  maxConnections?: number;
}

export interface ApiRequest {
  /** Default: this machine. */
  host?: string;
  port: number;
  path: string;
  method?: string;
  body?: string;
  /** A list is sent as several fields of that name. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Cuts the connection this long after sending the request, whatever has arrived. */
  cutAfterMs?: number;
}

export interface ApiAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** No complete response. */
export class NoAnswer extends Error {
  /** Node's code, `ECONNRESET` for example. */
  readonly code: string | undefined;

  constructor({ message, code }: { message: string; code?: string | undefined }) {
    super(message);
    this.name = 'NoAnswer';
    this.code = code;
  }

  /** True if no byte of the request can have reached a server. */
  get isUnsent(): boolean {
    return this.code === 'ECONNREFUSED';
  }
}

/** A plain HTTP client that interprets nothing. */
export class ApiClient {
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #underWay = new Set<ClientRequest>();

  constructor({ token, timeoutMs = 45_000, maxConnections = 4 }: ApiClientOptions = {}) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: maxConnections });
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the complete response. Throws NoAnswer. */
  request(request: ApiRequest): Promise<ApiAnswer> {
    return new Promise((resolve, reject) => {
      const begun = this.#begin(request, reject, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', (error) => reject(new NoAnswer(error)));
        answer.on('close', () => {
          if (!answer.complete) reject(new NoAnswer({ message: 'the answer broke off' }));
          else
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text: Buffer.concat(pieces).toString(),
            });
        });
      });
      const late = setTimeout(
        () => begun.destroy(new Error(`no answer within ${this.#timeoutMs / 1000} s`)),
        this.#timeoutMs,
      );
      const cut =
        request.cutAfterMs === undefined
          ? undefined
          : setTimeout(() => begun.destroy(new Error('cut by the client')), request.cutAfterMs);
      begun.once('close', () => {
        clearTimeout(late);
        clearTimeout(cut);
      });
    });
  }

  /** Returns the response before its body. Throws NoAnswer. */
  open(request: ApiRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const begun = this.#begin(request, reject, (answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      const late = setTimeout(() => begun.destroy(new Error('no answer')), this.#timeoutMs);
      begun.once('close', () => clearTimeout(late));
    });
  }

  /** The complete response, but of a stream that succeeds only its status; the stream is ended. Throws NoAnswer. */
  async head(request: ApiRequest): Promise<Pick<ApiAnswer, 'status' | 'text'>> {
    const answer = await this.open(request);
    answer.on('error', () => undefined);
    const { statusCode: status = 0 } = answer;
    if (status !== 200) return { status, text: await text(answer) };
    answer.destroy();
    return { status, text: '' };
  }

  /** Breaks every connection immediately. */
  cut(): void {
    for (const request of this.#underWay) request.destroy(new Error('cut by the client'));
  }

  close(): void {
    this.cut();
    this.#agent.destroy();
  }

  #begin(
    { host = '127.0.0.1', port, path, method = 'GET', body, headers = {} }: ApiRequest,
    reject: (error: NoAnswer) => void,
    onAnswer: (answer: IncomingMessage) => void,
  ): ClientRequest {
    const all: Record<string, string | string[]> = {
      ...this.#headers,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...(headers as Record<string, string | string[]>),
    };
    const request = httpRequest({ host, port, path, method, agent: this.#agent, headers: all });
    this.#underWay.add(request);
    request.once('response', onAnswer);
    request.once('close', () => this.#underWay.delete(request));
    request.on('error', (error: NodeJS.ErrnoException) => reject(new NoAnswer(error)));
    request.end(body);
    return request;
  }
}
