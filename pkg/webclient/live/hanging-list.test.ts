import { expect, jest, test } from '@jest/globals';
import type { AnyObject } from '#pkg/apimachinery/index';
import { connect } from '../connect.ts';
import { noteModel } from '../webclienttest/note-model.ts';
import { useFakePage } from '../webclienttest/use-fake-page.ts';
import type { LiveList } from './live-list.ts';
import { live } from './live.ts';

const pageWindow = useFakePage();

/** A live list of a server whose answers are the test's; a stream never begins. */
function start(): { list: LiveList<AnyObject>; states: string[]; asked: ((answer: Response) => void)[] } {
  const asked: ((answer: Response) => void)[] = [];
  const fetch: typeof globalThis.fetch = (url, init) =>
    new Promise((resolve, reject) => {
      init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason as Error));
      if (!(url as string).endsWith('/streams')) asked.push(resolve);
    });
  const list = live(connect({ url: 'http://server.test', fetch }).resource(noteModel));
  const states = [list.state.name as string];
  list.subscribe(() => list.state.name === states.at(-1) || states.push(list.state.name));
  return { list, states, asked };
}

const chunk = (next?: string): object => ({ items: [], metadata: { resourceVersion: '1', continue: next } });

test('a list without an answer is stale after 25 s, and is asked for again', async () => {
  const { list, states, asked } = start();
  const began = new Date();
  await jest.advanceTimersByTimeAsync(24_999);
  expect([states, asked.length]).toEqual([['loading'], 1]);
  await jest.advanceTimersByTimeAsync(1);
  expect(list.state).toEqual({ name: 'stale', staleSince: began });
  await jest.advanceTimersByTimeAsync(1000);
  expect(asked.length).toBe(2);
  asked[1]!(Response.json(chunk()));
  await list.ready;
  list.stop();
});

test('a long list is not stale while its chunks come, however long a body takes', async () => {
  const { list, states, asked } = start();
  for (const [i, next] of ['a', 'b', undefined].entries()) {
    await jest.advanceTimersByTimeAsync(20_000);
    asked[i]!(Response.json(chunk(next)));
  }
  await list.ready;
  expect(states).toEqual(['loading']);
  list.stop();

  const slow = start();
  await jest.advanceTimersByTimeAsync(0);
  const body = new TransformStream<Uint8Array, Uint8Array>();
  slow.asked[0]!(new Response(body.readable));
  await jest.advanceTimersByTimeAsync(50_000);
  const writer = body.writable.getWriter();
  void writer.write(new TextEncoder().encode(JSON.stringify(chunk())));
  void writer.close();
  await slow.list.ready;
  expect(slow.asked.length).toBe(1);
  slow.list.stop();
});

test('a list that hangs is asked for again as soon as the page wakes', async () => {
  const { list, asked } = start();
  const wake = async (): Promise<number> => {
    pageWindow().dispatchEvent(new Event('online'));
    await jest.advanceTimersByTimeAsync(1000);
    return asked.length;
  };
  await jest.advanceTimersByTimeAsync(5000);
  expect(await wake()).toBe(1);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(await wake()).toBe(2);
  asked[1]!(Response.json(chunk()));
  await list.ready;
  list.stop();
});
