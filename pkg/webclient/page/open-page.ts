import { connect, type ServerConnection } from '../connect.ts';
import {
  pageProtocol,
  type FrameObject,
  type MessageToHost,
  type MessageToPage,
  type PageLook,
  type PagePort,
} from './messages.ts';

/** A page of a plugin within the console. */
export interface OpenPage {
  /** The API in the name of the user, as far as `spec.rules` of the page allows it. */
  server: ServerConnection;
  /** On a tab of an object: which. */
  object: FrameObject | undefined;
  /** For an action: those that the user has chosen, at least one. Empty elsewhere. */
  objects: readonly FrameObject[];
  /** Within the page, as the address of the console has it: '' at first. */
  place: string;
  /** Calls the function with each place that the user goes to. */
  onPlace(listener: (place: string) => void): void;
  /** Writes the place to the address of the console: a link to it leads here again. */
  goTo(place: string): void;
  /** Whether something would be lost if the page were closed: the console then asks. */
  setUnsaved(isUnsaved: boolean): void;
  /** Closes the dialog of an action or a command, when its work is done. Elsewhere it does nothing. */
  close(): void;
  /** Calls the function when the console looks another way. The page has its colors and language already. */
  onLook(listener: (look: PageLook) => void): void;
}

/** As much of a browser as a page needs. */
interface FrameWindow {
  parent: unknown;
  addEventListener(type: 'message', listener: (event: FirstMessage) => void): void;
  removeEventListener(type: 'message', listener: (event: FirstMessage) => void): void;
  addEventListener(type: 'keydown', listener: (event: PressedKey) => void): void;
  document: {
    documentElement: {
      lang: string;
      offsetHeight: number;
      dataset: Record<string, string | undefined>;
      style: { colorScheme: string; setProperty(name: string, value: string): void };
    };
  };
  ResizeObserver: new (changed: () => void) => { observe(element: object): void };
}

interface ShownPage {
  look: PageLook;
  place: string;
  object?: FrameObject;
  objects?: readonly FrameObject[];
}

interface PressedKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  defaultPrevented: boolean;
  preventDefault(): void;
}

interface FirstMessage {
  source: unknown;
  data: unknown;
  ports: readonly PagePort[];
}

/**
 * Waits for the host of this page. Call it when the script begins: the host speaks first, once the page has loaded. It
 * never resolves in a page without a host.
 */
export function openPage(): Promise<OpenPage> {
  const frame = globalThis as unknown as FrameWindow;
  return new Promise((resolve) => {
    const hear = ({ source, data, ports: [port] }: FirstMessage): void => {
      if (source !== frame.parent || port === undefined) return;
      const { type, ...shown } = data as { type?: unknown } & ShownPage;
      if (type !== pageProtocol) return;
      frame.removeEventListener('message', hear);
      resolve(openPort(frame, port, shown));
    };
    frame.addEventListener('message', hear);
  });
}

function openPort(frame: FrameWindow, port: PagePort, { look, place, object, objects = [] }: ShownPage): OpenPage {
  const root = frame.document.documentElement;
  const onLook: ((look: PageLook) => void)[] = [];
  const onPlace: ((place: string) => void)[] = [];
  const post = (message: MessageToHost): void => port.postMessage(message, []);
  const requests = new PortRequests(post);
  const show = ({ scheme, language, colors }: PageLook): void => {
    root.lang = language;
    root.dataset['appearance'] = scheme;
    root.style.colorScheme = scheme;
    for (const [name, value] of Object.entries(colors)) root.style.setProperty(name, value);
  };
  show(look);
  const page: OpenPage = {
    server: connect({ fetch: requests.fetch, credential: () => undefined, fieldManager: 'svc-page' }),
    object,
    objects,
    place,
    onPlace: (listener) => void onPlace.push(listener),
    goTo: (next) => {
      page.place = next;
      post({ type: 'place', place: next });
    },
    setUnsaved: (isUnsaved) => post({ type: 'unsaved', isUnsaved }),
    close: () => post({ type: 'close' }),
    onLook: (listener) => void onLook.push(listener),
  };
  port.addEventListener('message', ({ data }) => {
    const message = data as MessageToPage;
    if (message.type === 'ask') post({ type: 'alive' });
    else if (message.type === 'look') {
      show(message.look);
      for (const listener of onLook) listener(message.look);
    } else if (message.type === 'place') {
      page.place = message.place;
      for (const listener of onPlace) listener(message.place);
    } else requests.take(message);
  });
  port.start();
  // A key that is pressed in a frame is the frame's alone.
  frame.addEventListener('keydown', (event) => {
    const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
    if (!isPalette || event.defaultPrevented) return;
    event.preventDefault();
    post({ type: 'palette' });
  });
  new frame.ResizeObserver(() => post({ type: 'height', pixels: root.offsetHeight })).observe(root);
  return page;
}

type RequestMessage = Extract<MessageToPage, { id: number }>;

interface Pending {
  answer(status: number, headers: readonly [string, string][], hasBody: boolean): void;
  part(bytes: Uint8Array): void;
  end(failure?: string): void;
}

/** `fetch` over the port, as far as `@svc/client` uses it. */
class PortRequests {
  readonly #post: (message: MessageToHost) => void;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor(post: (message: MessageToHost) => void) {
    this.#post = post;
  }

  take(message: RequestMessage): void {
    const pending = this.#pending.get(message.id);
    if (message.type === 'answer') pending?.answer(message.status, message.headers, message.hasBody);
    else if (message.type === 'part') pending?.part(message.bytes);
    else pending?.end(message.failure);
  }

  readonly fetch = ((path: string, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      this.#lastId += 1;
      const id = this.#lastId;
      const { signal } = init;
      let body: ReadableStreamDefaultController<Uint8Array> | undefined;
      const fail = (error: unknown): void => {
        this.#pending.delete(id);
        signal?.removeEventListener('abort', abort);
        reject(error);
        body?.error(error);
      };
      const abort = (): void => {
        this.#post({ type: 'abort', id });
        fail(signal?.reason);
      };
      if (signal?.aborted === true) return reject(signal.reason);
      signal?.addEventListener('abort', abort);
      this.#pending.set(id, {
        answer: (status, headers, hasBody) => {
          const stream = new ReadableStream<Uint8Array>({
            start: (controller) => {
              body = controller;
            },
            pull: () => this.#post({ type: 'more', id }),
            cancel: abort,
          });
          resolve(new Response(hasBody ? stream : undefined, { status, headers: headers.map(([...each]) => each) }));
        },
        part: (bytes) => body?.enqueue(bytes),
        end: (failure) => {
          if (failure !== undefined) return fail(new TypeError(failure));
          this.#pending.delete(id);
          signal?.removeEventListener('abort', abort);
          body?.close();
        },
      });
      this.#post({
        type: 'request',
        id,
        method: init.method ?? 'GET',
        path,
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(typeof init.body === 'string' ? { body: init.body } : {}),
      });
    })) as typeof fetch;
}
