import { isJsonObject, type JsonObject } from '#pkg/apimachinery/index';
import { partWindow, type MessageToPage, type PageLook, type PagePort, type PageRequest } from './messages.ts';

/** Why a host does not serve a page any longer. */
export type PageFault = 'malformed' | 'flood' | 'hang';

export interface ServePageOptions {
  port: PagePort;
  /** Sends the request in the name of the user; it must name the page, so that the server applies its rules. */
  send: (request: PageRequest, signal: AbortSignal) => Promise<Response>;
  /** Asks the user, outside of the page, before something is deleted. */
  mayDelete: (path: string) => Promise<boolean>;
  onHeight: (pixels: number) => void;
  onPlace: (place: string) => void;
  onUnsaved: (isUnsaved: boolean) => void;
  /** The page says that its user wants the palette: it is for the host to know whether the user is in the page. */
  onPalette: () => void;
  /** The work of the page is done. Default: nothing happens. */
  onClose?: () => void;
  /** Called once; the port is closed then. */
  onFault: (fault: PageFault) => void;
  /** Between two questions whether the page still answers. Milliseconds; default 5 s. */
  askEveryMs?: number;
}

export interface ServedPage {
  show(look: PageLook): void;
  goTo(place: string): void;
  /** Ends all requests. Idempotent. */
  close(): void;
}

const limits = {
  /** Requests at once; the server's limits apply besides. */
  requests: 32,
  pathLength: 8192,
  bodyLength: 1 << 20,
  placeLength: 1024,
  /** A page that is asked so often without an answer hangs. */
  unansweredQuestions: 3,
  /** Questions to the user, in the life of the page. */
  deletions: 20,
};
/** Messages at once, and in each second from then on. */
const messages = { burst: 1000, perSecond: 200 };

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** Any other header is the host's to set. */
const sentHeaders = ['accept', 'content-type', 'idempotency-key', 'if-match', 'if-none-match'];
const answeredHeaders = ['content-type', 'retry-after', 'warning', 'x-request-id', 'audit-id', 'location'];

/** The other side of `openPage`, in the window that shows the page: it checks form and amount, the server the rights. */
export function servePage(options: ServePageOptions): ServedPage {
  const host = new PageHost(options);
  return {
    show: (look) => host.post({ type: 'look', look }),
    goTo: (place) => host.post({ type: 'place', place }),
    close: () => host.close(),
  };
}

interface RunningRequest {
  abort: AbortController;
  /** Parts that may still be sent. */
  credit: number;
  wake: (() => void) | undefined;
}

class PageHost {
  readonly #options: ServePageOptions;
  readonly #running = new Map<number, RunningRequest>();
  readonly #timer: ReturnType<typeof setInterval>;
  #tokens = messages.burst;
  #refilledAt = performance.now();
  #unanswered = 0;
  #deletions = 0;
  #deleting: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: ServePageOptions) {
    this.#options = options;
    const { port, askEveryMs = 5000 } = options;
    port.addEventListener('message', ({ data }) => this.#take(data));
    port.start();
    this.#timer = setInterval(() => this.#ask(), askEveryMs);
  }

  post(message: MessageToPage): void {
    if (!this.#isClosed) this.#options.port.postMessage(message, []);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#options.port.close();
    for (const { abort } of this.#running.values()) abort.abort();
    this.#running.clear();
  }

  #cutOff(fault: PageFault): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onFault(fault);
  }

  #ask(): void {
    if (this.#unanswered >= limits.unansweredQuestions) return this.#cutOff('hang');
    this.#unanswered += 1;
    this.post({ type: 'ask' });
  }

  #take(message: unknown): void {
    if (this.#isClosed) return;
    if (!this.#isWithinRate()) return this.#cutOff('flood');
    this.#unanswered = 0;
    if (!isJsonObject(message) || !this.#act(message)) this.#cutOff('malformed');
  }

  #isWithinRate(): boolean {
    const now = performance.now();
    this.#tokens = Math.min(messages.burst, this.#tokens + ((now - this.#refilledAt) / 1000) * messages.perSecond);
    this.#refilledAt = now;
    this.#tokens -= 1;
    return this.#tokens >= 0;
  }

  /** False for a message that no page sends. */
  #act(message: JsonObject): boolean {
    const { type, id, pixels, place, isUnsaved } = message;
    switch (type) {
      case 'alive':
        return true;
      case 'height':
        if (typeof pixels !== 'number' || !Number.isFinite(pixels)) return false;
        this.#options.onHeight(pixels);
        return true;
      case 'place':
        if (typeof place !== 'string' || place.length > limits.placeLength) return false;
        this.#options.onPlace(place);
        return true;
      case 'unsaved':
        if (typeof isUnsaved !== 'boolean') return false;
        this.#options.onUnsaved(isUnsaved);
        return true;
      case 'palette':
        this.#options.onPalette();
        return true;
      case 'close':
        this.#options.onClose?.();
        return true;
      case 'more':
      case 'abort':
        if (typeof id === 'number') this.#change(id, type);
        return typeof id === 'number';
      case 'request': {
        const request = readRequest(message);
        if (typeof id !== 'number' || request === undefined || this.#running.has(id)) return false;
        void this.#run(id, request);
        return true;
      }
      default:
        return false;
    }
  }

  #change(id: number, type: 'more' | 'abort'): void {
    const request = this.#running.get(id);
    if (request === undefined) return;
    if (type === 'abort') return request.abort.abort();
    request.credit = Math.min(partWindow, request.credit + 1);
    request.wake?.();
  }

  /** Never rejects. */
  async #run(id: number, request: PageRequest): Promise<void> {
    const refusal = this.#running.size >= limits.requests ? tooMany : await this.#refusalOf(request);
    if (refusal !== undefined) return this.#answer(id, refusal);
    const running: RunningRequest = { abort: new AbortController(), credit: partWindow, wake: undefined };
    if (this.#isClosed) return;
    this.#running.set(id, running);
    running.abort.signal.addEventListener('abort', () => running.wake?.());
    try {
      const response = await this.#options.send(request, running.abort.signal);
      const headers = answeredHeaders.flatMap((name): [string, string][] => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value]];
      });
      this.post({ type: 'answer', id, status: response.status, headers, hasBody: response.body !== null });
      if (response.body !== null) await this.#pass(id, running, response.body);
      this.post({ type: 'end', id });
    } catch (error) {
      if (!running.abort.signal.aborted)
        this.post({ type: 'end', id, failure: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#running.delete(id);
    }
  }

  async #pass(id: number, running: RunningRequest, body: ReadableStream<Uint8Array>): Promise<void> {
    const { signal } = running.abort;
    const reader = body.getReader();
    try {
      for (;;) {
        while (running.credit === 0 && !signal.aborted)
          await new Promise<void>((resolve) => {
            running.wake = resolve;
          });
        signal.throwIfAborted();
        const { value, done } = await reader.read();
        if (done) return;
        running.credit -= 1;
        this.post({ type: 'part', id, bytes: value });
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  /** Why a request is answered here. */
  async #refusalOf({ method, path }: PageRequest): Promise<Refusal | undefined> {
    if (method !== 'DELETE') return undefined;
    this.#deletions += 1;
    if (this.#deletions > limits.deletions) return notAllowed('the page has asked to delete too often');
    // One question at a time.
    const asked = this.#deleting.then(() => !this.#isClosed && this.#options.mayDelete(path));
    this.#deleting = asked.catch(() => false);
    return (await this.#deleting) === true ? undefined : notAllowed('the user did not want to delete it');
  }

  #answer(id: number, { status, reason, message }: Refusal): void {
    const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code: status };
    this.post({ type: 'answer', id, status, headers: [['content-type', 'application/json']], hasBody: true });
    this.post({ type: 'part', id, bytes: new TextEncoder().encode(JSON.stringify(body)) });
    this.post({ type: 'end', id });
  }
}

interface Refusal {
  status: number;
  reason: string;
  message: string;
}

const tooMany: Refusal = {
  status: 429,
  reason: 'TooManyRequests',
  message: 'the page has too many requests under way',
};

function notAllowed(message: string): Refusal {
  return { status: 403, reason: 'Forbidden', message };
}

/** Undefined for a request that no page sends: another origin, another method, too much. */
function readRequest({ method, path, headers, body }: JsonObject): PageRequest | undefined {
  if (typeof method !== 'string' || !methods.has(method)) return undefined;
  if (typeof path !== 'string' || path.length > limits.pathLength || !isPathOfServer(path)) return undefined;
  if (body !== undefined && (typeof body !== 'string' || body.length > limits.bodyLength)) return undefined;
  if (!isJsonObject(headers)) return undefined;
  const sent = sentHeaders.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' && value.length < 1024 ? [[name, value] as const] : [];
  });
  return { method, path, headers: Object.fromEntries(sent), ...(body === undefined ? {} : { body }) };
}

/** A browser must not read it in another way than this: `//host`, `\`, and dots lead elsewhere. */
function isPathOfServer(path: string): boolean {
  if (!/^\/(?:api|apis|openapi)(?:\/|$)/.test(path) || /[\\#\s]/.test(path)) return false;
  const url = URL.canParse(path, 'http://host.invalid') ? new URL(path, 'http://host.invalid') : undefined;
  return url?.origin === 'http://host.invalid' && `${url.pathname}${url.search}` === path;
}
