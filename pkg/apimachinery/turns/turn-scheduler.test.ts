import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { runInTurns, type SlicedWork } from './event-loop-turns.ts';
import { newWork, TurnScheduler } from './turn-scheduler.ts';

const budgetMs = 10;

function sumOf(times: readonly number[]): number {
  return times.reduce((sum, ms) => sum + ms, 0);
}

/** A clock that only work and waiting advance, and an event loop that the test turns. */
class SteppedLoop {
  time = 0;
  /** Milliseconds that unsliced work takes of each turn; at 0 the event loop is idle in a turn without work. */
  others = 0;
  #idle = 0;
  #callbacks: (() => void)[] = [];
  #soon: (() => void)[] = [];
  readonly scheduler = new TurnScheduler({
    host: {
      now: () => this.time,
      idle: () => this.#idle,
      later: (callback) => this.#callbacks.push(callback),
      soon: (callback) => this.#soon.push(callback),
    },
    budgetMs,
  });

  get isIdle(): boolean {
    return this.#callbacks.length + this.#soon.length === 0;
  }

  /** @returns the work done in this turn, in milliseconds. */
  async turn(): Promise<number> {
    if (this.#callbacks.length === 0 && this.others === 0) this.#waitForTimer();
    this.time += this.others;
    const before = this.time;
    for (const callback of [...this.#soon.splice(0), ...this.#callbacks.splice(0)]) callback();
    await eventLoopTurn();
    return this.time - before;
  }

  /** Turns until no work is left; returns the work of each turn. */
  async turns(): Promise<number[]> {
    const each: number[] = [];
    while (!this.isIdle) each.push(await this.turn());
    return each;
  }

  /** Each step takes half a millisecond. */
  *work(steps: number, at: (step: number) => void = () => {}): SlicedWork<string> {
    for (let step = 0; step < steps; step += 1) {
      at(step);
      this.time += 0.5;
      yield;
    }
    return 'done';
  }

  #waitForTimer(): void {
    this.time += 1;
    this.#idle += 1;
  }
}

describe('the turns of the event loop', () => {
  test.each([1, 16, 64])('give %d tasks together at most one budget each', async (count) => {
    const loop = new SteppedLoop();
    const works = Array.from({ length: count }, () => runInTurns(loop.work(50), { scheduler: loop.scheduler }));
    await eventLoopTurn();
    const first = loop.time;
    const rest = await loop.turns();
    expect(await Promise.all(works)).toEqual(Array.from({ length: count }, () => 'done'));
    expect(Math.max(first, ...rest)).toBeLessThanOrEqual(budgetMs);
    expect(first + sumOf(rest)).toBe(count * 25);
    // No time is wasted: each turn but the last ones is used up.
    expect(rest.filter((ms) => ms > 0).length).toBeLessThanOrEqual(Math.ceil((count * 25) / budgetMs) + 2);
  });

  test('are fair: no task is ahead of another by more than a turn and a quantum', async () => {
    const loop = new SteppedLoop();
    const done = Array.from({ length: 16 }, () => 0);
    const works = done.map((_, i) =>
      runInTurns(
        loop.work(100, () => (done[i]! += 1)),
        { scheduler: loop.scheduler },
      ),
    );
    await eventLoopTurn();
    while (!loop.isIdle && Math.max(...done) < 100) {
      await loop.turn();
      expect(Math.max(...done) - Math.min(...done)).toBeLessThanOrEqual((budgetMs + 1) / 0.5);
    }
    await loop.turns();
    await Promise.all(works);
  });

  test('run a small task that arrives late before a large task ends', async () => {
    const loop = new SteppedLoop();
    const over: string[] = [];
    const run = (name: string, steps: number): Promise<unknown> =>
      runInTurns(loop.work(steps), { scheduler: loop.scheduler }).then(() => over.push(name));
    const large = Array.from({ length: 8 }, () => run('large', 400));
    await loop.turn();
    const small = run('small', 1);
    await loop.turn();
    await loop.turn();
    expect(over).toEqual(['small']);
    await loop.turns();
    await Promise.all([...large, small]);
  });

  test('continue with other tasks if one fails or is aborted', async () => {
    const loop = new SteppedLoop();
    const { scheduler } = loop;
    const gone = new AbortController();
    const reached: number[] = [];
    const failing = runInTurns(
      loop.work(50, (step) => {
        if (step === 30) throw new Error('broken');
      }),
      { scheduler },
    );
    const left = runInTurns(
      loop.work(500, (step) => reached.push(step)),
      { scheduler, signal: gone.signal },
    );
    const others = Array.from({ length: 4 }, () => runInTurns(loop.work(50), { scheduler }));
    const outcomes = Promise.allSettled([failing, left, ...others]);
    await loop.turn();
    const before = reached.length;
    gone.abort();
    await loop.turns();
    expect(await outcomes).toMatchObject([
      { status: 'rejected', reason: { message: 'broken' } },
      { status: 'rejected', reason: { code: 504 } },
      ...others.map(() => ({ status: 'fulfilled', value: 'done' })),
    ]);
    expect(reached.length).toBe(before);
    expect(loop.isIdle).toBe(true);
  });

  test('run a task that arrives between two turns, and stop without tasks', async () => {
    const loop = new SteppedLoop();
    expect(loop.isIdle).toBe(true);
    const waited: number[] = [];
    const wait = async (name: number): Promise<void> => {
      await loop.scheduler.wait(newWork());
      waited.push(name);
    };
    const waits = [wait(1), wait(2)];
    await loop.turn();
    waits.push(wait(3));
    await loop.turns();
    await Promise.all(waits);
    expect(waited).toEqual([1, 2, 3]);
    expect(await loop.turns()).toEqual([]);
  });

  test('run waiting small tasks before all large ones, in any order of arrival', async () => {
    const loop = new SteppedLoop();
    const { scheduler } = loop;
    const over: string[] = [];
    const run = (name: string, isLarge: boolean): Promise<unknown> =>
      runInTurns(loop.work(1), { scheduler, isLarge }).then(() => over.push(name));
    scheduler.enter(newWork());
    loop.time += budgetMs;
    const works = [run('large', true), run('large', true), run('small', false), run('small', false)];
    await loop.turns();
    await Promise.all(works);
    expect(over).toEqual(['small', 'small', 'large', 'large']);
  });

  test('leave other work eight times as long as large tasks take, sliced or not', async () => {
    const loop = new SteppedLoop();
    loop.others = 2;
    const begin = loop.time;
    const works = Array.from({ length: 8 }, () => runInTurns(loop.work(200), { scheduler: loop.scheduler }));
    await eventLoopTurn();
    const large = loop.time - begin + sumOf(await loop.turns());
    await Promise.all(works);
    expect(large).toBe(800);
    expect(loop.time - begin - large).toBeGreaterThan(7 * large);
  });

  test('pause large tasks for at most 2 ms if there is no other work', async () => {
    const loop = new SteppedLoop();
    const work = runInTurns(loop.work(200), { scheduler: loop.scheduler });
    await eventLoopTurn();
    await loop.turns();
    expect(await work).toBe('done');
    expect(loop.time).toBeLessThanOrEqual(100 + (100 / budgetMs) * 2);
  });

  test('pause large tasks for at most 400 ms, however long a turn was', async () => {
    const loop = new SteppedLoop();
    loop.others = 5;
    const work = runInTurns(
      (function* (): SlicedWork<void> {
        yield;
        loop.time += 1000;
        yield;
      })(),
      { scheduler: loop.scheduler, isLarge: true },
    );
    await eventLoopTurn();
    await loop.turns();
    await work;
    expect(loop.time).toBeLessThanOrEqual(1000 + 400 + 4 * loop.others);
  });

  test('do not count a small task as large because one slice takes long', async () => {
    const loop = new SteppedLoop();
    loop.others = 5;
    let largeSteps = 0;
    const large = runInTurns(
      loop.work(200, () => (largeSteps += 1)),
      { scheduler: loop.scheduler, isLarge: true },
    );
    let isDone = false;
    // For example, the garbage collector runs in one slice.
    const small = runInTurns(
      loop.work(3, (step) => (loop.time += step === 1 ? 50 : 0)),
      { scheduler: loop.scheduler },
    ).then(() => (isDone = true));
    const before = largeSteps;
    for (let turn = 0; turn < 3; turn += 1) await loop.turn();
    expect([isDone, largeSteps]).toEqual([true, before]);
    loop.others = 0;
    await loop.turns();
    await Promise.all([large, small]);
  });

  test('count admitted bytes as time, although they arrive outside slices', async () => {
    const loop = new SteppedLoop();
    loop.others = 1;
    const { scheduler } = loop;
    let letIn = 0;
    const works = Array.from({ length: 12 }, async () => {
      await scheduler.wait(newWork(true));
      letIn += 1;
      // 4 ms.
      scheduler.expect(1 << 20);
    });
    const each: number[] = [];
    while (letIn < works.length) {
      const before = letIn;
      await loop.turn();
      if (letIn > before) each.push(letIn - before);
    }
    await Promise.all(works);
    expect(each).toEqual([3, 3, 3, 3]);
    // Large work rests eight times as long as the bytes take to arrive.
    expect(loop.time).toBeGreaterThan(3 * 8 * 12);
  });

  test('continue a large task after its pause, however many small tasks there are', async () => {
    const loop = new SteppedLoop();
    loop.others = 1;
    const { scheduler } = loop;
    const over: string[] = [];
    const small = Array.from({ length: 20 }, async () => {
      while (over.length === 0) await runInTurns(loop.work(4), { scheduler });
    });
    const large = runInTurns(loop.work(40), { scheduler, isLarge: true });
    let turns = 0;
    void large.then((outcome) => over.push(outcome));
    while (over.length === 0 && turns < 1000) {
      await loop.turn();
      turns += 1;
    }
    expect(over).toEqual(['done']);
    await loop.turns();
    await Promise.all(small);
  });

  test('start a large task that arrives during a pause after it', async () => {
    const loop = new SteppedLoop();
    loop.others = 1;
    const { scheduler } = loop;
    const first = runInTurns(loop.work(19), { scheduler });
    await loop.turn();
    expect(await first).toBe('done');
    const before = loop.time;
    let begun: number | undefined;
    const second = runInTurns(
      loop.work(1, () => (begun = loop.time - before)),
      { scheduler, isLarge: true },
    );
    await loop.turns();
    expect(await second).toBe('done');
    expect(begun).toBeGreaterThanOrEqual(9);
  });
});
