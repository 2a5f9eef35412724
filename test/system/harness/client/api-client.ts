import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';

export interface ApiRequest {
  port: number;
  path: string;
  method?: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
  /** Cuts the connection this long after sending the request, whatever has arrived. */
  cutAfterMs?: number;
}

export interface ApiAnswer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** No complete response. `isUnsent`: no byte of the request can have reached a server. */
export class NoAnswer extends Error {
  readonly isUnsent: boolean;

  constructor(message: string, isUnsent: boolean) {
    super(message);
    this.name = 'NoAnswer';
    this.isUnsent = isUnsent;
  }
}

/** Longer than a server's own request timeout. Milliseconds. */
const answerTimeoutMs = 45_000;

/** A plain HTTP client that interprets nothing. */
export class ApiClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });
  readonly #headers: Readonly<Record<string, string>>;
  readonly #underWay = new Set<ClientRequest>();

  /** Without a token, requests are anonymous unless they set the header themselves. */
  constructor(token?: string) {
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** Returns the complete response. Throws NoAnswer. */
  request(request: ApiRequest): Promise<ApiAnswer> {
    return new Promise((resolve, reject) => {
      const begun = this.#begin(request, reject, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', (error) => reject(new NoAnswer(error.message, false)));
        answer.on('close', () => {
          if (!answer.complete) reject(new NoAnswer('the answer broke off', false));
          else
            resolve({
              status: answer.statusCode ?? 0,
              headers: answer.headers,
              text: Buffer.concat(pieces).toString(),
            });
        });
      });
      const late = setTimeout(
        () => begun.destroy(new Error(`no answer within ${answerTimeoutMs / 1000} s`)),
        answerTimeoutMs,
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
      const late = setTimeout(() => begun.destroy(new Error('no answer')), answerTimeoutMs);
      begun.once('close', () => clearTimeout(late));
    });
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
    { port, path, method = 'GET', body, headers = {} }: ApiRequest,
    reject: (error: NoAnswer) => void,
    onAnswer: (answer: IncomingMessage) => void,
  ): ClientRequest {
    const all = {
      ...this.#headers,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...headers,
    };
    const request = httpRequest({ host: '127.0.0.1', port, path, method, agent: this.#agent, headers: all });
    this.#underWay.add(request);
    request.once('response', onAnswer);
    request.once('close', () => this.#underWay.delete(request));
    request.on('error', (error: NodeJS.ErrnoException) =>
      reject(new NoAnswer(error.message, error.code === 'ECONNREFUSED')),
    );
    request.end(body);
    return request;
  }
}
