import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { connect } from '../connect.ts';
import { noteModel } from '../webclienttest/note-model.ts';
import { follow } from './follow.ts';
import { live } from './live.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** Answers lists without objects; `tell` sends an object to all subscriptions of the stream. */
function start(): { fetch: typeof fetch; tell: (revision: string) => void; streams: () => number } {
  let streams = 0;
  let tell: (revision: string) => void = () => undefined;
  const fetch: typeof globalThis.fetch = (url, init) => {
    if (!(url as string).endsWith('/streams'))
      return Promise.resolve(Response.json({ items: [], metadata: { resourceVersion: '1' } }));
    streams += 1;
    const { subscriptions } = JSON.parse(init!.body as string) as { subscriptions: { id: string }[] };
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        tell = (resourceVersion) => {
          const object = { metadata: { name: 'a', uid: 'a', resourceVersion } };
          const lines = subscriptions.map(({ id }) => `${JSON.stringify({ id, type: 'ADDED', object })}\n`);
          stream.enqueue(new TextEncoder().encode(lines.join('')));
        };
      },
    });
    return Promise.resolve(new Response(body));
  };
  return { fetch, tell: (revision) => tell(revision), streams: () => streams };
}

test('a listener that throws takes no change away from others, and its error is reported', async () => {
  const { fetch, tell, streams } = start();
  const notes = connect({ url: 'http://server.test', fetch }).resource(noteModel);
  const end = new AbortController();
  follow(notes, {
    labels: { a: 'b' },
    signal: end.signal,
    onEvents: (events) => {
      if (events.length > 0) throw new Error('a mistake of a page');
    },
  });
  const told: string[] = [];
  follow(notes, { signal: end.signal, onEvents: (events) => told.push(events.map(({ type }) => type).join()) });
  const list = live(notes);
  let isTold = false;
  list.subscribe(() => {
    if (list.current.length > 0) throw new Error('a mistake of a page');
  });
  list.subscribe(() => (isTold = list.current.length > 0));
  await jest.advanceTimersByTimeAsync(100);
  tell('2');
  await expect(jest.advanceTimersByTimeAsync(100)).rejects.toThrow('a mistake of a page');
  await jest.advanceTimersByTimeAsync(1000).catch(() => undefined);
  expect({ told, isTold, streams: streams() }).toEqual({ told: ['', 'ADDED'], isTold: true, streams: 1 });
  end.abort();
  list.stop();
});
