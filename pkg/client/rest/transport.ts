import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import {
  abortError,
  newServiceUnavailable,
  newTimeout,
  untilAborted,
  whenAborted,
  withinTime,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { Credentials, ServerEndpoint } from './server-endpoint.ts';
import type { RestLimits } from './rest-limits.ts';

/** A connection that was idle for this long is not reused: servers close theirs after about a minute. Milliseconds. */
const idleConnectionMs = 30_000;

export const userAgent = 'svc';

export interface OutgoingRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Includes the query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Whether it is a watch, which gets its own connection. */
  isStream?: boolean;
}

/** Sends requests to one endpoint over keep-alive connections. */
export class Transport {
  readonly #endpoint: ServerEndpoint;
  readonly #limits: RestLimits;
  readonly #agent: HttpAgent;
  readonly #streamAgent: HttpAgent;
  readonly #prefix: string;

  constructor(endpoint: ServerEndpoint, limits: RestLimits) {
    this.#endpoint = endpoint;
    this.#limits = limits;
    const Agent = endpoint.url.protocol === 'https:' ? HttpsAgent : HttpAgent;
    this.#agent = new Agent({ keepAlive: true, maxSockets: limits.maxConnections, timeout: idleConnectionMs });
    this.#streamAgent = new Agent();
    this.#prefix = endpoint.url.pathname.replace(/\/+$/, '');
  }

  /**
   * Resolves when a response of any status starts; the caller must read it to its end or destroy it.
   * @throws StatusError 503 if the server cannot be reached, 504 if it does not respond in time, the signal's reason.
   */
  async open(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const credentials = await this.#credentials(signal);
    try {
      return await this.#exchange(request, credentials, signal);
    } catch (error) {
      // The server closed a keep-alive connection while the request was in transit: a read can be repeated.
      if (request.method !== 'GET' || !(error instanceof StaleConnectionError))
        throw error instanceof StaleConnectionError ? error.failure : error;
      return await this.#exchange(request, credentials, signal).catch((again: unknown) => {
        throw again instanceof StaleConnectionError ? again.failure : again;
      });
    }
  }

  close(): void {
    this.#agent.destroy();
    this.#streamAgent.destroy();
  }

  #credentials(signal: AbortSignal): Promise<Credentials> {
    const timeoutError = (): Error => newTimeout('the credentials of the client were not there in time');
    const unreadable = (error: unknown): never => {
      throw newUnreachable('the credentials of the client could not be read', error);
    };
    return withinTime({ timeoutMs: this.#limits.answerTimeoutMs, signal, timeoutError }, (limit) =>
      untilAborted(this.#endpoint.credentials().catch(unreadable), limit),
    );
  }

  #exchange(
    outgoing: OutgoingRequest,
    { headers, tls, agent }: Credentials,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { method, path, body, isStream = false } = outgoing;
    const { url } = this.#endpoint;
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    // As bytes: with a text Node would write the headers in the text's encoding too, and corrupt non-ASCII headers.
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) };
    return new Promise((resolve, reject) => {
      let request: ClientRequest;
      let forget = (): void => undefined;
      const settle = (): void => {
        clearTimeout(timer);
        forget();
      };
      const fail = (error: Error): void => {
        settle();
        reject(error);
        request.destroy();
      };
      const timer = setTimeout(
        () => fail(newTimeout(`no answer has begun within ${this.#limits.answerTimeoutMs / 1000} s`)),
        this.#limits.answerTimeoutMs,
      );
      try {
        request = send({
          ...tls,
          method,
          host: url.hostname.replace(/^\[|\]$/g, ''),
          ...(url.port === '' ? {} : { port: url.port }),
          path: `${this.#prefix}${path}`,
          headers: { 'user-agent': userAgent, ...outgoing.headers, ...length, ...headers },
          agent: agent ?? (isStream ? this.#streamAgent : this.#agent),
        });
      } catch (error) {
        settle();
        reject(newUnreachable('the request could not be made', error));
        return;
      }
      forget = whenAborted(signal, () => fail(abortError(signal)));
      request.on('error', (error) => {
        settle();
        const failure = newUnreachable('the server could not be reached', error);
        reject(request.reusedSocket && isReset(error) ? new StaleConnectionError(failure) : failure);
      });
      request.on('response', (response) => {
        settle();
        if (response.statusCode === 401) this.#endpoint.credentialsRefused();
        // The reader of the response gets the error.
        response.on('error', () => undefined);
        resolve(response);
      });
      request.end(bytes);
    });
  }
}

class StaleConnectionError extends Error {
  readonly failure: StatusError;

  constructor(failure: StatusError) {
    super(failure.message);
    this.failure = failure;
  }
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

/** The cause is for the client's own log; the message may be shown to others. */
export function newUnreachable(message: string, cause: unknown): StatusError {
  const failure = newServiceUnavailable(cause instanceof Error ? `${message}: ${cause.message}` : message);
  failure.cause = cause;
  return failure;
}
