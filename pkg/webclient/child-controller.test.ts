import { getEventListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { childController } from './child-controller.ts';

test('a signal forgets its children when they end, also after a collection of garbage', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const { signal } = new AbortController();
  const children = [1, 2, 3].map(() => childController(signal));
  // What a turn has made stays until its end.
  await nextTurn();
  collectGarbage();
  for (const child of children) child.abort();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a child aborts with its signal, for the same reason, also if that has aborted before', () => {
  const parent = new AbortController();
  const child = childController(parent.signal);
  const reason = new Error('over');
  parent.abort(reason);
  expect(child.signal.reason).toBe(reason);
  expect(childController(parent.signal).signal.reason).toBe(reason);
});
