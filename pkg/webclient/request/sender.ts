import { StatusError } from '#pkg/apimachinery/index';
import { childController } from '../child-controller.ts';
import type { BrowserSession, FeedProvider } from '../live-source.ts';
import { onWake } from '../on-wake.ts';
import { pause } from '../pause.ts';
import { failureOf } from './failure.ts';

export interface RequestSenderOptions {
  /** Origin and path prefix of the API: `https://svc.example.com`. Default: the page's own origin. */
  url?: string;
  /**
   * A personal token; a function is called for each try, so that it can be renewed. Default: the session of the browser,
   * whose CSRF token is added to what changes something.
   */
  credential?: string | (() => string | undefined | Promise<string | undefined>);
  /** Who sets the fields that are written. Default `svc-client`. */
  fieldManager?: string;
  /** Of one try, until its answer is read; of a watch, until it begins. Milliseconds; default 60 s. */
  timeoutMs?: number;
  /**
   * A stream on which nothing comes for so long, not even the server's heartbeat of every 15 s, is dead; so is a request
   * of a live list whose answer does not begin. Milliseconds; default 25 s.
   */
  maxSilenceMs?: number;
  /** Called with the text of each Warning header, unless the call has a `warn` of its own. Default: nobody is told. */
  warn?: (text: string) => void;
  /** Default: the global one. */
  fetch?: typeof fetch;
  /** Who keeps the live lists of the browser's session up to date. Default: this page. */
  feeds?: FeedProvider;
}

export interface OutgoingCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Default: that of the connection. */
  url?: string | undefined;
  path: string;
  query?: URLSearchParams;
  /** Sent as JSON. */
  body?: unknown;
  /** Default `application/json`. */
  contentType?: string;
  accept?: string;
  /** Time for the answer of each try to begin. Milliseconds; default: `timeoutMs` of the connection. */
  answerMs?: number | undefined;
  /** Gives up the call: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called with the text of each Warning header of the answer. Default: that of the connection. */
  warn?: ((text: string) => void) | undefined;
  /**
   * Can the server remember the outcome of this write, so that it may be sent again? Default true; not for dry runs,
   * logins, and requests that write nothing.
   */
  isRepeatable?: boolean;
}

const maxRetries = 3;
/** If the server asks for a longer wait, the call fails at once. Seconds. */
const maxWaitSeconds = 30;

/**
 * Sends requests with `fetch`. Reads, and writes under an Idempotency-Key of their own, are repeated up to three times
 * if the server is away or asks for it, and reads that hang when the page wakes.
 */
export class RequestSender {
  readonly #options: RequestSenderOptions;
  #csrfToken: string | undefined;
  #session = {};

  constructor(options: RequestSenderOptions) {
    this.#options = options;
  }

  get fieldManager(): string {
    return this.#options.fieldManager ?? 'svc-client';
  }

  get maxSilenceMs(): number {
    return this.#options.maxSilenceMs ?? 25_000;
  }

  get feeds(): FeedProvider | undefined {
    return this.#options.feeds;
  }

  /** Undefined with a credential, or without a session. */
  get browserSession(): BrowserSession | undefined {
    const { url = '', credential } = this.#options;
    // A frame without an origin may not read cookies: it has a credential.
    const csrfToken = credential === undefined ? (this.#csrfToken ?? csrfTokenOfPage()) : undefined;
    return csrfToken === undefined ? undefined : { url, csrfToken };
  }

  /**
   * The CSRF token of the session that this connection keeps to: the server refuses requests for the data of another one.
   * Default: whatever session the browser has.
   */
  set csrfToken(token: string | undefined) {
    this.#csrfToken = token;
    this.#session = {};
  }

  /** Another one after each login and logout here. */
  get session(): object {
    return this.#session;
  }

  /** The JSON of the answer; undefined if it has no body. @throws StatusError for every failure, or the signal's reason */
  json(call: OutgoingCall): Promise<unknown> {
    return this.#send(call, async (response) => {
      const text = await response.text();
      return text === '' ? undefined : JSON.parse(text);
    });
  }

  /**
   * An answer whose body is not read yet; `limit` ends it. The call must have no signal of its own.
   * @throws StatusError for every failure, or the reason of `limit`
   */
  open(call: OutgoingCall, limit: AbortController): Promise<Response> {
    return this.#send({ ...call, signal: limit.signal }, (response) => response, true);
  }

  async #send<T>(call: OutgoingCall, read: (response: Response) => T | Promise<T>, isLeftOpen = false): Promise<T> {
    const { method, isRepeatable = true, signal } = call;
    const key = method !== 'GET' && isRepeatable ? randomKey() : undefined;
    for (let tries = 0; ; tries += 1) {
      const result = await this.#try({ call, key, read, isLeftOpen });
      if (!(result instanceof StatusError)) return result;
      const seconds = retrySeconds(result, tries);
      if (!isRepeatable || tries === maxRetries || seconds > maxWaitSeconds) throw result;
      // Never all at once: others were sent away at the same time.
      await pause(seconds * 1000 * (1 + Math.random() / 4), signal);
    }
  }

  /** What `read` makes of the answer, or a failure after which another try may help. */
  async #try<T>({ call, key, read, isLeftOpen }: Try<T>): Promise<T | StatusError> {
    const { fetch: ask = fetch, credential, timeoutMs = 60_000 } = this.#options;
    const { method, signal, body, answerMs, warn = this.#options.warn } = call;
    const own = childController(signal);
    const began = Date.now();
    let isLate = false;
    const giveUp = (): void => {
      isLate = true;
      own.abort();
    };
    let timer = setTimeout(giveUp, answerMs ?? timeoutMs);
    let mayHang = method === 'GET';
    // The connection may have gone while the page slept.
    onWake(() => {
      if (mayHang && Date.now() - began > this.maxSilenceMs / 2) giveUp();
    }, own.signal);
    try {
      const response = await ask(this.#urlOf(call), {
        method,
        headers: await this.#headersOf(call, key),
        credentials: credential === undefined ? 'include' : 'omit',
        signal: own.signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      mayHang = false;
      clearTimeout(timer);
      timer = setTimeout(giveUp, began + timeoutMs - Date.now());
      if (!response.ok) return failureOf(response, await response.text());
      for (const text of warningTexts(response.headers)) warn?.(text);
      return await read(response);
    } catch (error) {
      if (isLate)
        return new StatusError(504, 'Timeout', 'the server gave no answer', { details: { retryAfterSeconds: 0.2 } });
      signal?.throwIfAborted();
      if (error instanceof StatusError) throw error;
      const message = `no answer: ${error instanceof Error ? error.message : String(error)}`;
      return new StatusError(503, 'ServiceUnavailable', message, { details: { retryAfterSeconds: 1 } });
    } finally {
      mayHang = false;
      clearTimeout(timer);
      // Else the signal ends the body, which is still to come.
      if (!isLeftOpen) own.abort();
    }
  }

  #urlOf({ url = this.#options.url ?? '', path, query }: OutgoingCall): string {
    return [url.replace(/\/$/, '') + path, ...(query === undefined || query.size === 0 ? [] : [query])].join('?');
  }

  async #headersOf(
    { method, body, contentType = 'application/json', accept = 'application/json' }: OutgoingCall,
    key: string | undefined,
  ): Promise<[string, string][]> {
    const { credential } = this.#options;
    const token = typeof credential === 'function' ? await credential() : credential;
    const headers = {
      Accept: accept,
      'Content-Type': body === undefined ? undefined : contentType,
      Authorization: token === undefined ? undefined : `Bearer ${token}`,
      'X-CSRFToken': method === 'GET' ? undefined : this.browserSession?.csrfToken,
      'X-SVC-Session': this.#csrfToken,
      'Idempotency-Key': key,
    };
    return Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined);
  }
}

interface Try<T> {
  call: OutgoingCall;
  key: string | undefined;
  read: (response: Response) => T | Promise<T>;
  isLeftOpen: boolean;
}

/** When to try again; infinite: not at all. A server that is away is asked after 0.2, 0.4 and 0.8 seconds. */
function retrySeconds({ code, reason, details }: StatusError, tries: number): number {
  const asked = details?.retryAfterSeconds;
  if (code === 429 || code === 503 || code === 504) return asked ?? 0.2 * 2 ** tries;
  // The same write is still under way.
  return code === 409 && reason === 'Conflict' ? (asked ?? Infinity) : Infinity;
}

function csrfTokenOfPage(): string | undefined {
  const { document } = globalThis as { document?: { cookie: string } };
  return /(?:^|;\s*)svc_csrftoken=([^;]*)/.exec(document?.cookie ?? '')?.[1];
}

/** `crypto.randomUUID` exists in secure contexts only. */
function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

const warningForm = /299 \S+ "((?:[^"\\]|\\.)*)"/g;

/** Source: RFC 7234, 5.5. */
function warningTexts(headers: Headers): string[] {
  return [...(headers.get('warning') ?? '').matchAll(warningForm)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );
}
