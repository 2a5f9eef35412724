import { describe, expect, test } from '@jest/globals';
import { newConflict, type StatusError } from '#pkg/apimachinery/index';
import { StorageError } from '#pkg/storage/index';
import { KeyedQueue } from './keyed-queue.ts';
import { retryOnConflict } from '../write/write-steps.ts';

const { signal } = new AbortController();

/** A promise and the means to resolve it. */
function deferred(): { opened: Promise<void>; open: () => void } {
  let open: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open?.() };
}

describe('KeyedQueue', () => {
  test('work of one key runs one at a time, in order, also after failures; other keys do not wait', async () => {
    const queue = new KeyedQueue();
    const first = deferred();
    const order: string[] = [];
    const work =
      (name: string): (() => Promise<void>) =>
      async () => {
        order.push(name);
      };
    const running = queue.run('a', signal, async () => {
      await first.opened;
      order.push('a1');
      throw new Error('a1');
    });
    const rest = Promise.all([queue.run('a', signal, work('a2')), queue.run('a', signal, work('a3'))]);
    await queue.run('b', signal, work('b'));
    expect(order).toEqual(['b']);
    first.open();
    await expect(running).rejects.toThrow('a1');
    await rest;
    expect(order).toEqual(['b', 'a1', 'a2', 'a3']);
    expect([queue.isBusy('a'), queue.isBusy('b')]).toEqual([false, false]);
  });

  test('a waiter that gives up does not change the queue', async () => {
    const queue = new KeyedQueue();
    const first = deferred();
    const abort = new AbortController();
    const order: string[] = [];
    const running = queue.run('a', signal, () => first.opened);
    const given = queue.run('a', abort.signal, async () => void order.push('given up'));
    const last = queue.run('a', signal, async () => void order.push('last'));
    const reason = newConflict({ group: '', resource: 'x' }, 'x', 'reason');
    abort.abort(reason);
    await expect(given).rejects.toBe(reason);
    expect(order).toEqual([]);
    first.open();
    await Promise.all([running, last]);
    expect(order).toEqual(['last']);
    expect(queue.isBusy('a')).toBe(false);
  });

  test('a queue that is too long refuses more', async () => {
    const queue = new KeyedQueue();
    const first = deferred();
    const waiting = Array.from({ length: 512 }, () => queue.run('a', new AbortController().signal, () => first.opened));
    const error = await queue.run('a', signal, () => first.opened).catch((reason: unknown) => reason as StatusError);
    expect(error?.code).toBe(429);
    first.open();
    await Promise.all(waiting);
  });
});

function conflicts(times: number): () => Promise<string> {
  let left = times;
  return async () => {
    left -= 1;
    if (left >= 0) throw new StorageError('Conflict', 'newer');
    return 'written';
  };
}

describe('retryOnConflict', () => {
  const key = { namespace: '', name: 'a' };

  test.each([0, 1, 5])('%i conflicts are overcome', async (times) => {
    expect(await retryOnConflict(new KeyedQueue(), key, signal, conflicts(times))).toBe('written');
  });

  test('other errors are thrown at once', async () => {
    const outcome = retryOnConflict(new KeyedQueue(), key, signal, () =>
      Promise.reject(new StorageError('NotFound', 'gone')),
    );
    await expect(outcome).rejects.toMatchObject({ code: 'NotFound' });
  });

  test('conflicts without end are 429 with Retry-After, and the queue is free again', async () => {
    const queue = new KeyedQueue();
    await expect(retryOnConflict(queue, key, signal, conflicts(1000))).rejects.toMatchObject({
      code: 429,
      details: { retryAfterSeconds: 1 },
    });
    expect(queue.isBusy('/a')).toBe(false);
  });
});
