import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from './manual-clock.ts';
import { ItemBackoff } from './rate-limiter.ts';
import { WorkQueue } from './work-queue.ts';

function newQueue(): { queue: WorkQueue; clock: ManualClock } {
  const clock = new ManualClock();
  return { queue: new WorkQueue({ clock, limiter: new ItemBackoff({ jitter: 0 }) }), clock };
}

/** Takes the ready keys, without waiting for more. */
async function takeAll(queue: WorkQueue): Promise<string[]> {
  const taken: string[] = [];
  while (queue.length > 0) taken.push((await queue.take())!);
  return taken;
}

describe('a queue', () => {
  test('returns keys in the order of adding, each once', async () => {
    const { queue } = newQueue();
    for (const key of ['b', 'a', 'b', 'c', 'a']) queue.add(key);
    expect(await takeAll(queue)).toEqual(['b', 'a', 'c']);
  });

  test('keeps the order of thousands of keys', async () => {
    const { queue } = newQueue();
    const keys = Array.from({ length: 6000 }, (_, i) => `k-${i}`);
    const taken: string[] = [];
    for (const [i, key] of keys.entries()) {
      queue.add(key);
      if (i % 3 !== 0) taken.push((await queue.take())!);
    }
    expect([...taken, ...(await takeAll(queue))]).toEqual(keys);
  });

  test('returns a key in progress only after its work, and then once', async () => {
    const { queue } = newQueue();
    queue.add('a');
    expect(await queue.take()).toBe('a');
    queue.add('a');
    queue.add('a');
    expect(queue.length).toBe(0);
    queue.done('a');
    expect(await takeAll(queue)).toEqual(['a']);
  });

  test('wakes takers in their order', async () => {
    const { queue } = newQueue();
    const takers = [queue.take(), queue.take()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all(takers)).toEqual(['a', 'b']);
  });

  test('adds a delayed key at its time, and of two times at the earlier one', async () => {
    const { queue, clock } = newQueue();
    queue.addAfter('a', 100);
    queue.addAfter('a', 50);
    queue.addAfter('a', 80);
    queue.addAfter('b', 70);
    clock.advance(49);
    expect(queue.length).toBe(0);
    clock.advance(1);
    expect(await takeAll(queue)).toEqual(['a']);
    clock.advance(1000);
    expect(await takeAll(queue)).toEqual(['b']);
    expect(clock.pending).toBe(0);
  });

  test('doubles the wait with each failure until a success', async () => {
    const { queue, clock } = newQueue();
    const waits: number[] = [];
    for (const reset of [false, false, false, true, false]) {
      if (reset) queue.forget('a');
      const before = clock.now();
      queue.addRateLimited('a');
      while (queue.length === 0) clock.advance(1);
      waits.push(clock.now() - before);
      queue.done((await queue.take())!);
    }
    expect(waits).toEqual([5, 10, 20, 5, 10]);
  });

  test('when closed drops what waits, ends takers, waits for work, and accepts nothing more', async () => {
    const { queue, clock } = newQueue();
    queue.add('working');
    const working = await queue.take();
    queue.add('working');
    queue.addAfter('late', 10);
    const taker = queue.take();
    let isClosed = false;
    const closing = queue.close().then(() => (isClosed = true));
    expect(await taker).toBeUndefined();
    expect(await queue.take()).toBeUndefined();
    expect(clock.pending).toBe(0);
    queue.add('after');
    expect(queue.length).toBe(0);
    expect(isClosed).toBe(false);
    queue.done(working!);
    expect(queue.length).toBe(0);
    await closing;
    await queue.close();
  });

  test('reports to its observer how long keys waited and were processed', async () => {
    const clock = new ManualClock();
    const observed: string[] = [];
    const observer = {
      depth: (keys: number) => observed.push(`depth ${keys}`),
      added: () => observed.push('added'),
      taken: (ms: number) => observed.push(`taken ${ms}`),
      done: (ms: number) => observed.push(`done ${ms}`),
      retried: () => observed.push('retried'),
    };
    const queue = new WorkQueue({ clock, observer, limiter: new ItemBackoff({ jitter: 0 }) });
    queue.add('a');
    clock.advance(3);
    await queue.take();
    clock.advance(4);
    queue.done('a');
    queue.addRateLimited('a');
    expect(observed).toEqual(['added', 'depth 1', 'taken 3', 'depth 0', 'done 4', 'retried']);
  });
});

const keys = fc.constantFrom('a', 'b', 'c', 'd');
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constantFrom('add' as const, 'done' as const, 'fail' as const, 'forget' as const), key: keys }),
    fc.record({ do: fc.constant('addAfter' as const), key: keys, ms: fc.integer({ min: -5, max: 40 }) }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 30 }) }),
  ),
  { maxLength: 120 },
);

/** The same queue in its simplest form. */
class ModelQueue {
  now = 0;
  ready: string[] = [];
  again = new Set<string>();
  working = new Set<string>();
  delayed: { key: string; at: number }[] = [];
  failures = new Map<string, number>();

  add(key: string): void {
    if (this.working.has(key)) this.again.add(key);
    else if (!this.ready.includes(key)) this.ready.push(key);
  }

  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    const at = Math.min(this.now + ms, this.delayed.find((each) => each.key === key)?.at ?? Infinity);
    this.delayed = [...this.delayed.filter((each) => each.key !== key), { key, at }];
  }

  fail(key: string): void {
    const failures = this.failures.get(key) ?? 0;
    this.failures.set(key, failures + 1);
    this.addAfter(key, 5 * 2 ** failures);
  }

  done(key: string): void {
    this.working.delete(key);
    if (this.again.delete(key)) this.ready.push(key);
  }

  advance(ms: number): void {
    this.now += ms;
    const due = this.delayed.filter(({ at }) => at <= this.now).toSorted((a, b) => a.at - b.at);
    this.delayed = this.delayed.filter(({ at }) => at > this.now);
    for (const { key } of due) this.add(key);
  }
}

test('behaves like its model for any sequence of calls', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { queue, clock } = newQueue();
      const model = new ModelQueue();
      for (const step of sequence) {
        if (step.do === 'take') {
          if (model.ready.length === 0) continue;
          const expected = model.ready.shift()!;
          model.working.add(expected);
          const key = await queue.take();
          // Keys that become due at the same moment may come in any order.
          if (key !== expected && model.ready.includes(key!)) {
            model.ready.splice(model.ready.indexOf(key!), 1, expected);
            model.working.delete(expected);
            model.working.add(key!);
          } else expect(key).toBe(expected);
        } else if (step.do === 'advance') {
          clock.advance(step.ms);
          model.advance(step.ms);
        } else if (step.do === 'addAfter') {
          queue.addAfter(step.key, step.ms);
          model.addAfter(step.key, step.ms);
        } else if (step.do === 'fail') {
          queue.addRateLimited(step.key);
          model.fail(step.key);
        } else if (step.do === 'forget') {
          queue.forget(step.key);
          model.failures.delete(step.key);
        } else if (step.do === 'add') {
          queue.add(step.key);
          model.add(step.key);
        } else {
          // Does nothing for a key without work.
          queue.done(step.key);
          model.done(step.key);
        }
        expect(queue.length).toBe(model.ready.length);
      }
      expect(clock.pending).toBe(model.delayed.length > 0 ? 1 : 0);
    }),
    { numRuns: 400 },
  );
});
