import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { newExpired, newForbidden, type AnyObject, type ClientEvent, type ObjectList } from '#pkg/apimachinery/index';
import type { ChangeSink } from '../live-source.ts';
import { ListFollower, type LiveState } from './list-follower.ts';

const maxSilenceMs = 25_000;
const bookmark: ClientEvent<AnyObject> = { type: 'BOOKMARK', resourceVersion: '2' };

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A follower of a server that answers when the test says so. */
function start(): {
  follower: ListFollower<AnyObject>;
  states: LiveState[];
  lists: ((list: ObjectList<AnyObject>) => void)[];
  follows: { since: string; sink: ChangeSink<AnyObject>; end: (failure?: unknown) => void }[];
  onReplace: (act: () => void) => void;
} {
  const states: LiveState[] = [];
  const lists: ((list: ObjectList<AnyObject>) => void)[] = [];
  const follows: ReturnType<typeof start>['follows'] = [];
  let replaced = (): void => undefined;
  const follower = new ListFollower<AnyObject>(
    {
      maxSilenceMs,
      list: () => new Promise((resolve) => lists.push(resolve)),
      follow: (since, sink) =>
        new Promise((resolve, reject) => {
          follows.push({ since, sink, end: (failure) => (failure === undefined ? resolve() : reject(failure)) });
        }),
    },
    { replace: () => replaced(), take: () => undefined, enter: (state) => states.push(state) },
  );
  return { follower, states, lists, follows, onReplace: (act) => (replaced = act) };
}

const empty: ObjectList<AnyObject> = { items: [], resourceVersion: '1' };

test('a stream that does not begin is stale once nothing has come for maxSilenceMs', async () => {
  const { follower, states, lists, follows } = start();
  const listed = new Date();
  lists[0]!(empty);
  await jest.advanceTimersByTimeAsync(maxSilenceMs - 1);
  expect([states, follows.length]).toEqual([[], 1]);
  await jest.advanceTimersByTimeAsync(1);
  expect(states).toEqual([{ name: 'stale', staleSince: listed }]);
  follows[0]!.sink.live();
  await jest.advanceTimersByTimeAsync(10 * maxSilenceMs);
  expect(states.at(-1)).toEqual({ name: 'live' });
  follower.stop();
});

test('a stream that ended is stale so long after its last sign of life, not after its end', async () => {
  const { follower, states, lists, follows } = start();
  lists[0]!(empty);
  await jest.advanceTimersByTimeAsync(0);
  const { sink } = follows[0]!;
  sink.live();
  await jest.advanceTimersByTimeAsync(7000);
  sink.take([bookmark]);
  const lastSign = new Date();
  await jest.advanceTimersByTimeAsync(10_000);
  sink.behind(false);
  expect(states.at(-1)).toEqual({ name: 'catching up' });
  await jest.advanceTimersByTimeAsync(maxSilenceMs - 10_000 - 1);
  expect(states.at(-1)).toEqual({ name: 'catching up' });
  await jest.advanceTimersByTimeAsync(1);
  expect(states.at(-1)).toEqual({ name: 'stale', staleSince: lastSign });
  follower.stop();
  await jest.advanceTimersByTimeAsync(maxSilenceMs);
  expect(states.filter(({ name }) => name === 'stale').length).toBe(1);
});

test('it stays stale for the reason that it had, and is told nothing once it is stopped', async () => {
  const { follower, states, lists, follows } = start();
  lists[0]!(empty);
  await jest.advanceTimersByTimeAsync(0);
  const { sink } = follows[0]!;
  sink.live();
  sink.behind(false);
  const failure = newForbidden({ group: '', resource: 'notes' }, '', 'the test says so');
  sink.behind(true, failure);
  await jest.advanceTimersByTimeAsync(2 * maxSilenceMs);
  expect(states.at(-1)).toMatchObject({ name: 'stale', failure });
  const { length } = states;
  follower.stop();
  sink.behind(false);
  expect([states.length, jest.getTimerCount()]).toEqual([length, 0]);
});

test('after 410 it is not live until it has listed again and follows', async () => {
  const { follower, states, lists, follows } = start();
  lists[0]!(empty);
  await jest.advanceTimersByTimeAsync(0);
  follows[0]!.sink.live();
  follows[0]!.end(newExpired('the test says so'));
  await jest.advanceTimersByTimeAsync(1000);
  expect([lists.length, states.map(({ name }) => name)]).toEqual([2, ['live', 'catching up']]);
  await jest.advanceTimersByTimeAsync(maxSilenceMs - 1000);
  expect(states.at(-1)).toMatchObject({ name: 'stale' });
  lists[1]!({ items: [], resourceVersion: '3' });
  await jest.advanceTimersByTimeAsync(0);
  expect(follows.at(-1)!.since).toBe('3');
  follows.at(-1)!.sink.live();
  expect(states.at(-1)).toEqual({ name: 'live' });
  follower.stop();
});

test('a listener that stops it with the first list opens no stream', async () => {
  const { follower, lists, follows, onReplace } = start();
  onReplace(() => follower.stop());
  lists[0]!(empty);
  await jest.advanceTimersByTimeAsync(1000);
  expect(follows).toEqual([]);
});
