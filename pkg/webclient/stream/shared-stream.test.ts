import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { RequestSender } from '../request/sender.ts';
import { SharedStream } from './shared-stream.ts';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick'] });
});
afterEach(() => {
  jest.useRealTimers();
});

interface Request {
  since: string;
  signal: AbortSignal;
  answer: (response: Response) => void;
  /** Begins the answer. */
  begin: () => void;
  /** An object of every subscription. */
  tell: (revision: string) => void;
  /** Every subscription. */
  refuse: (code: number) => void;
  end: () => void;
}

/** A stream whose server answers when the test says so. */
function start(): { requests: Request[]; follow: () => { told: string[]; end: AbortController } } {
  const requests: Request[] = [];
  const fetch: typeof globalThis.fetch = (_url, init) =>
    new Promise((answer, reject) => {
      const signal = init!.signal!;
      const { since, subscriptions } = JSON.parse(init!.body as string) as {
        since: string;
        subscriptions: { id: string }[];
      };
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      signal.addEventListener('abort', () => {
        reject(signal.reason as Error);
        writer.abort(signal.reason).catch(() => undefined);
      });
      const send = (type: string, object: object): void => {
        const lines = subscriptions.map(({ id }) => `${JSON.stringify({ id, type, object })}\n`);
        writer.write(new TextEncoder().encode(lines.join(''))).catch(() => undefined);
      };
      requests.push({
        since,
        signal,
        answer,
        begin: () => answer(new Response(readable)),
        tell: (resourceVersion) => send('MODIFIED', { metadata: { name: 'a', uid: 'a', resourceVersion } }),
        refuse: (code) => send('ERROR', { kind: 'Status', code, reason: 'Expired', message: 'the test says so' }),
        end: () => void writer.close(),
      });
    });
  const stream = new SharedStream(new RequestSender({ url: 'http://server.test', fetch }), 'application/json');
  const target = { group: '', version: 'v1', resource: 'notes' };
  return {
    requests,
    follow: () => {
      const told: string[] = [];
      const end = new AbortController();
      const sink = {
        live: () => told.at(-1) === 'live' || told.push('live'),
        behind: (isStale: boolean, failure?: { code: number }) =>
          told.push(isStale ? `stale ${failure?.code}` : 'behind'),
        take: (events: readonly object[]) =>
          told.push(...events.map((event) => (event as { object: Note }).object.metadata.resourceVersion)),
      };
      stream
        .follow(target, '1', sink, end.signal)
        .catch((error: { code: number }) => told.push(`failed ${error.code}`));
      return { told, end };
    },
  };
}

interface Note {
  metadata: { resourceVersion: string };
}

/** Followers come together within 20 ms, and a failed try is followed by another within 200 ms. */
const soon = (): Promise<void> => jest.advanceTimersByTimeAsync(250);

test('while another list cannot be added, the others go on, and nothing comes twice', async () => {
  const { requests, follow } = start();
  const one = follow();
  await soon();
  requests[0]!.begin();
  requests[0]!.tell('2');
  await soon();
  const two = follow();
  await jest.advanceTimersByTimeAsync(20);
  requests[1]!.answer(new Response('{}', { status: 503 }));
  await soon();
  requests[0]!.tell('3');
  await soon();
  expect([one.told, two.told]).toEqual([['live', '2', 'live', '3'], ['stale 503']]);
  // The next try gets no answer for 25 s.
  await jest.advanceTimersByTimeAsync(20_000);
  requests[0]!.tell('4');
  await jest.advanceTimersByTimeAsync(10_000);
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([false, true, true, false]);
  requests[3]!.begin();
  await soon();
  expect(requests[0]!.signal.aborted).toBe(true);
  expect(requests[3]!.since).toBe('1');
  requests[3]!.tell('4');
  requests[3]!.tell('5');
  await soon();
  expect(one.told).toEqual(['live', '2', 'live', '3', 'live', '4', 'live', '5']);
  expect(two.told).toEqual(['stale 503', 'stale undefined', 'live', '4', 'live', '5']);
  for (const { end } of [one, two]) end.abort();
  await soon();
  expect(requests.every(({ signal }) => signal.aborted)).toBe(true);
});

test('where the stream ends while another one is on its way, both try, and the one that is answered last stays', async () => {
  const { requests, follow } = start();
  const one = follow();
  await soon();
  requests[0]!.begin();
  requests[0]!.tell('2');
  await soon();
  const two = follow();
  await jest.advanceTimersByTimeAsync(20);
  requests[0]!.end();
  await soon();
  expect([one.told, two.told]).toEqual([['live', '2', 'behind'], ['behind']]);
  requests[2]!.begin();
  requests[2]!.tell('3');
  await soon();
  for (const { told } of [one, two]) expect(told.slice(-2)).toEqual(['live', '3']);
  requests[1]!.begin();
  requests[1]!.tell('3');
  requests[1]!.tell('4');
  await soon();
  for (const { told } of [one, two]) expect(told.slice(-4)).toEqual(['live', '3', 'live', '4']);
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false, true]);
  // Another list takes the place of one that is not answered yet.
  const three = follow();
  await soon();
  const four = follow();
  await soon();
  expect(requests.map(({ signal }) => signal.aborted)).toEqual([true, false, true, true, false]);
  for (const { end } of [one, two, three, four]) end.abort();
  await soon();
  expect(requests.every(({ signal }) => signal.aborted)).toBe(true);
});

test('a stream whose only list is refused ends, also where the list does not come back', async () => {
  const { requests, follow } = start();
  const one = follow();
  await soon();
  requests[0]!.begin();
  requests[0]!.refuse(410);
  await soon();
  expect([one.told, requests.map(({ signal }) => signal.aborted)]).toEqual([['failed 410'], [true]]);
});
