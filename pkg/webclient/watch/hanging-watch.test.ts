import { expect, jest, test } from '@jest/globals';
import { connect } from '../connect.ts';
import { noteModel } from '../webclienttest/note-model.ts';
import { useFakePage } from '../webclienttest/use-fake-page.ts';

const pageWindow = useFakePage();

/** A server that answers when the test says so. */
function start(): { watch: ReturnType<ReturnType<typeof notes>['watch']>; asked: Asked[] } {
  const asked: Asked[] = [];
  const fetch: typeof globalThis.fetch = (_url, init) =>
    new Promise((answer, reject) => {
      const signal = init!.signal!;
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      asked.push({ answer, signal });
    });
  return { watch: notes(fetch).watch({ since: '1' }), asked };
}

interface Asked {
  answer: (response: Response) => void;
  signal: AbortSignal;
}

const notes = (fetch: typeof globalThis.fetch) => connect({ url: 'http://server.test', fetch }).resource(noteModel);

test('a watch that hangs is asked for again as soon as the page wakes, and its end ends the request', async () => {
  const { watch, asked } = start();
  await jest.advanceTimersByTimeAsync(13_000);
  pageWindow().dispatchEvent(new Event('online'));
  await jest.advanceTimersByTimeAsync(1000);
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  asked[1]!.answer(new Response(new ReadableStream()));
  const stream = await watch;
  expect(asked[1]!.signal.aborted).toBe(false);
  stream.close();
  expect(asked[1]!.signal.aborted).toBe(true);
});

test('a watch without an answer fails as any request does', async () => {
  const { watch, asked } = start();
  const failed = expect(watch).rejects.toMatchObject({ name: 'StatusError', code: 504 });
  await jest.advanceTimersByTimeAsync(250_000);
  await failed;
  expect(asked.length).toBe(4);
});
