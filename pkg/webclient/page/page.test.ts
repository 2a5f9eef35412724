import { afterEach, expect, test } from '@jest/globals';
import { live } from '../live/live.ts';
import { pageProtocol, type PageLook, type PagePort } from './messages.ts';
import { openPage, type OpenPage } from './open-page.ts';
import { servePage, type PageFault, type ServedPage, type ServePageOptions } from './serve-page.ts';

const look: PageLook = { scheme: 'dark', language: 'en', colors: { '--text': '#fff' } };
const Note = {
  group: 'a.example.com',
  version: 'v1',
  kind: 'Note',
  plural: 'notes',
  namespaced: false,
  hasStatusSubresource: false,
};
const note = {
  apiVersion: 'a.example.com/v1',
  kind: 'Note',
  metadata: { name: 'one', uid: 'u', resourceVersion: '5' },
};

const chosen = { apiVersion: 'a.example.com/v1', kind: 'Note', name: 'one' };

interface Ends {
  page: OpenPage;
  served: ServedPage;
  /** Of the page. */
  port: Pick<PagePort, 'postMessage'>;
  heard: unknown[];
  faults: PageFault[];
  sent: string[];
}

const ended: (() => void)[] = [];
afterEach(() => {
  for (const end of ended.splice(0)) end();
});

/** A page and its host; the frame is as much of a window as they need. */
async function start(options: Partial<ServePageOptions> = {}): Promise<Ends> {
  const { port1: host, port2: port } = new MessageChannel();
  const heard: unknown[] = [];
  const faults: PageFault[] = [];
  const sent: string[] = [];
  const send: ServePageOptions['send'] = async (request) => {
    sent.push(`${request.method} ${request.path}`);
    return new Response(JSON.stringify({ ...note, headers: request.headers }));
  };
  const served = servePage({
    port: host as never,
    send,
    mayDelete: () => Promise.resolve(false),
    onHeight: (pixels) => void heard.push({ pixels }),
    onPlace: (place) => void heard.push({ place }),
    onUnsaved: (isUnsaved) => void heard.push({ isUnsaved }),
    onPalette: () => void heard.push('palette'),
    onClose: () => void heard.push('closed'),
    onFault: (fault) => void faults.push(fault),
    ...options,
  });
  const style: Record<string, unknown> = { setProperty: (name: string, value: string) => (style[name] = value) };
  const frame = {
    parent: {},
    document: { documentElement: { lang: '', offsetHeight: 300, dataset: {}, style } },
    ResizeObserver: class {
      readonly #changed: () => void;
      constructor(changed: () => void) {
        this.#changed = changed;
      }
      observe(): void {
        this.#changed();
      }
    },
  };
  const target = new EventTarget();
  Object.assign(globalThis, frame, {
    addEventListener: target.addEventListener.bind(target),
    removeEventListener: target.removeEventListener.bind(target),
  });
  const opening = openPage();
  const hello = (source: unknown, type: string): Event =>
    Object.assign(new Event('message'), { source, data: { type, look, place: 'a', objects: [chosen] }, ports: [port] });
  // Others may speak to the page, too.
  target.dispatchEvent(hello({}, pageProtocol));
  target.dispatchEvent(hello(frame.parent, 'another'));
  target.dispatchEvent(hello(frame.parent, pageProtocol));
  const page = await opening;
  for (const name of [...Object.keys(frame), 'addEventListener', 'removeEventListener'])
    delete (globalThis as Record<string, unknown>)[name];
  ended.push(() => {
    served.close();
    port.close();
  });
  return { page, served, port, heard, faults, sent };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

test('a page asks the server by its host, which sends only what it should', async () => {
  const { page, heard, sent } = await start();
  const answer = (await page.server.read('/apis/a.example.com/v1/notes/one')) as { headers: object };
  expect(answer).toMatchObject({ kind: 'Note', headers: { accept: 'application/json' } });
  expect(Object.keys(answer.headers)).toEqual(['accept']);
  await page.server.resource(Note).create({ metadata: { name: 'one' } });
  expect(sent).toEqual(['GET /apis/a.example.com/v1/notes/one', expect.stringContaining('POST /apis/')]);
  page.goTo('b');
  page.setUnsaved(true);
  page.close();
  await until(() => heard.length === 4);
  expect([page.place, heard]).toEqual(['b', [{ pixels: 300 }, { place: 'b' }, { isUnsaved: true }, 'closed']]);
  expect([page.object, page.objects]).toEqual([undefined, [chosen]]);
});

test('a deletion is asked of the user, at most 20 times', async () => {
  let questions = 0;
  let may = true;
  const { page, sent } = await start({
    mayDelete: () => {
      questions += 1;
      return Promise.resolve(may);
    },
  });
  const notes = page.server.resource(Note);
  await notes.remove('one');
  expect(sent).toEqual(['DELETE /apis/a.example.com/v1/notes/one']);
  may = false;
  await expect(notes.remove('one')).rejects.toMatchObject({ code: 403, message: 'the user did not want to delete it' });
  for (let i = 2; i < 20; i += 1) await expect(notes.remove('one')).rejects.toMatchObject({ code: 403 });
  await expect(notes.remove('one')).rejects.toMatchObject({ message: 'the page has asked to delete too often' });
  expect([questions, sent.length]).toEqual([20, 1]);
});

test('a list stays up to date by a stream, of which few parts are under way', async () => {
  let parts = 0;
  const events = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        parts += 1;
        const object = { ...note, metadata: { ...note.metadata, resourceVersion: String(5 + parts) } };
        controller.enqueue(new TextEncoder().encode(`${JSON.stringify({ id: '1', type: 'MODIFIED', object })}\n`));
      },
    },
    { highWaterMark: 0 },
  );
  const { page, served } = await start({
    send: async ({ method }) =>
      method === 'POST'
        ? new Response(events)
        : new Response(JSON.stringify({ kind: 'NoteList', metadata: { resourceVersion: '5' }, items: [note] })),
  });
  const list = live(page.server.resource(Note));
  await until(() => Number(list.current[0]?.metadata.resourceVersion) > 50);
  list.stop();
  served.close();
  const before = parts;
  await new Promise((resolve) => setImmediate(resolve));
  expect(parts).toBeLessThanOrEqual(before + 1);
});

test.each<[string, unknown]>([
  ['no object', 'a'],
  ['an unknown type', { type: 'eval' }],
  ['another host', { type: 'request', id: 1, method: 'GET', path: '//elsewhere/apis/', headers: {} }],
  ['another path', { type: 'request', id: 1, method: 'GET', path: '/console/', headers: {} }],
  ['dots', { type: 'request', id: 1, method: 'GET', path: '/apis/../login/', headers: {} }],
  ['encoded dots', { type: 'request', id: 1, method: 'GET', path: '/apis/%2e%2e/login/', headers: {} }],
  ['a backslash', { type: 'request', id: 1, method: 'GET', path: '/apis/\\elsewhere', headers: {} }],
  ['another method', { type: 'request', id: 1, method: 'TRACE', path: '/apis', headers: {} }],
  ['a large body', { type: 'request', id: 1, method: 'POST', path: '/apis', headers: {}, body: 'x'.repeat(2_000_000) }],
  ['a height that is none', { type: 'height', pixels: Number.NaN }],
])('a message with %s closes the page', async (_what, message) => {
  const { port, faults, sent } = await start();
  port.postMessage(message, []);
  await until(() => faults.length > 0);
  expect([faults, sent]).toEqual([['malformed'], []]);
});

test('a page that sends too much is closed, and one that does not answer', async () => {
  const { port, faults, heard } = await start();
  for (let i = 0; i < 5000; i += 1) port.postMessage({ type: 'height', pixels: i }, []);
  await until(() => faults.length > 0);
  expect(faults).toEqual(['flood']);
  expect(heard.length).toBeLessThan(1500);

  const hanging: PageFault[] = [];
  const { port1, port2 } = new MessageChannel();
  const nothing = (): void => undefined;
  servePage({
    port: port1 as never,
    send: () => Promise.reject(new Error('none')),
    mayDelete: () => Promise.resolve(false),
    onHeight: nothing,
    onPlace: nothing,
    onUnsaved: nothing,
    onPalette: nothing,
    onFault: (fault) => void hanging.push(fault),
    askEveryMs: 1,
  });
  await until(() => hanging.length > 0);
  expect(hanging).toEqual(['hang']);
  port2.close();
});
