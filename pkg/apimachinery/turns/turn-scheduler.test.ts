import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { runInTurns, type SlicedWork } from './event-loop-turns.ts';
import { TurnScheduler } from './turn-scheduler.ts';

const budgetMs = 10;

/** A clock that only work moves, and an event loop that turns when it is told to. */
class SteppedLoop {
  time = 0;
  private callbacks: (() => void)[] = [];
  readonly scheduler = new TurnScheduler({ host: { now: () => this.time, later: (callback) => this.callbacks.push(callback) }, budgetMs });

  get isIdle(): boolean {
    return this.callbacks.length === 0;
  }

  /** @returns how much work was done in this turn. */
  async turn(): Promise<number> {
    const before = this.time;
    for (const callback of this.callbacks.splice(0)) callback();
    await eventLoopTurn();
    return this.time - before;
  }

  /** Turns until nothing is left; what each turn did. */
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
}

describe('the turns of the event loop', () => {
  test.each([1, 16, 64])('give %d works together no more than one budget each', async (count) => {
    const loop = new SteppedLoop();
    const works = Array.from({ length: count }, () => runInTurns(loop.work(50), { scheduler: loop.scheduler }));
    await eventLoopTurn();
    const first = loop.time;
    const rest = await loop.turns();
    expect(await Promise.all(works)).toEqual(Array.from({ length: count }, () => 'done'));
    expect(Math.max(first, ...rest)).toBeLessThanOrEqual(budgetMs);
    expect(loop.time).toBe(count * 25);
    // None is wasted either: but for the last ones, each turn is used up.
    expect(rest.length).toBeLessThanOrEqual(Math.ceil(loop.time / budgetMs) + 2);
  });

  test('go round fairly: no work is ahead of another by more than a turn and a quantum', async () => {
    const loop = new SteppedLoop();
    const done = Array.from({ length: 16 }, () => 0);
    const works = done.map((_, i) => runInTurns(loop.work(100, () => (done[i]! += 1)), { scheduler: loop.scheduler }));
    await eventLoopTurn();
    while (!loop.isIdle && Math.max(...done) < 100) {
      await loop.turn();
      expect(Math.max(...done) - Math.min(...done)).toBeLessThanOrEqual((budgetMs + 1) / 0.5);
    }
    await loop.turns();
    await Promise.all(works);
  });

  test('let small work that comes late go before large work is done', async () => {
    const loop = new SteppedLoop();
    const over: string[] = [];
    const run = (name: string, steps: number): Promise<unknown> => runInTurns(loop.work(steps), { scheduler: loop.scheduler }).then(() => over.push(name));
    const large = Array.from({ length: 8 }, () => run('large', 400));
    await loop.turn();
    const small = run('small', 1);
    await loop.turn();
    await loop.turn();
    expect(over).toEqual(['small']);
    await loop.turns();
    await Promise.all([...large, small]);
  });

  test('go on for the others where one work fails or is given up', async () => {
    const loop = new SteppedLoop();
    const { scheduler } = loop;
    const gone = new AbortController();
    const reached: number[] = [];
    const failing = runInTurns(loop.work(50, (step) => {
      if (step === 30) throw new Error('broken');
    }), { scheduler });
    const left = runInTurns(loop.work(500, (step) => reached.push(step)), { scheduler, signal: gone.signal });
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

  test('leave nobody waiting who comes between two turns, and stand still without work', async () => {
    const loop = new SteppedLoop();
    expect(loop.isIdle).toBe(true);
    const waited: number[] = [];
    const wait = async (name: number): Promise<void> => {
      await loop.scheduler.wait();
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
});
