import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { AnyObject, Stored } from '#pkg/apimachinery/index';
import { LiveStore } from './live-store.ts';

const page = globalThis as { requestAnimationFrame?: (tell: () => void) => void };
let frames: (() => void)[];
beforeEach(() => {
  jest.useFakeTimers();
  frames = [];
  page.requestAnimationFrame = (tell) => void frames.push(tell);
});
afterEach(() => {
  jest.useRealTimers();
  delete page.requestAnimationFrame;
});

function object(uid: string): Stored<AnyObject> {
  return { apiVersion: 'v1', kind: 'Post', metadata: { name: uid, uid, resourceVersion: uid } } as Stored<AnyObject>;
}

test('where frames are painted, changes are told once a frame; after 100 ms where none is', () => {
  const store = new LiveStore({
    maxSilenceMs: 25_000,
    list: () => new Promise<never>(() => undefined),
    follow: () => Promise.resolve(),
  });
  const sizes: number[] = [];
  store.subscribe(() => sizes.push(store.objects.size));
  for (const uid of ['1', '2', '3']) store.take([{ type: 'ADDED', object: object(uid) }]);
  expect([sizes, frames.length]).toEqual([[], 1]);
  frames.pop()!();
  jest.advanceTimersByTime(100);
  expect(sizes).toEqual([3]);
  store.take([{ type: 'DELETED', object: object('3') }]);
  jest.advanceTimersByTime(100);
  expect(sizes).toEqual([3, 2]);
  store.stop();
});
