import { describe, expect, test } from '@jest/globals';
import { EventLoopTurns, runSync, runInTurns, type SlicedWork } from './event-loop-turns.ts';
import { TurnScheduler } from './turn-scheduler.ts';

function* counted(steps: number, at: (step: number) => void): SlicedWork<string> {
  for (let step = 0; step < steps; step += 1) {
    at(step);
    yield;
  }
  return 'done';
}

/** The number of event loop turns until `work` is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

describe('sliced work', () => {
  test('runs synchronously if it may not be interrupted', () => {
    const steps: number[] = [];
    expect(runSync(counted(3, (step) => steps.push(step)))).toBe('done');
    expect(steps).toEqual([0, 1, 2]);
  });

  test('yields to the event loop when its budget is used up', async () => {
    const steps: number[] = [];
    const work = runInTurns(
      counted(5, (step) => steps.push(step)),
      { scheduler: new TurnScheduler({ budgetMs: 0 }) },
    );
    expect(await turnsDuring(work)).toBeGreaterThanOrEqual(4);
    expect(steps).toEqual([0, 1, 2, 3, 4]);
    expect(await work).toBe('done');
  });

  test('does not yield while it has budget left', async () => {
    const work = runInTurns(
      counted(5, () => {}),
      { scheduler: new TurnScheduler({ budgetMs: 60_000 }) },
    );
    expect(await turnsDuring(work)).toBeLessThanOrEqual(1);
  });

  test('an error of the work is thrown', async () => {
    const failing = (): SlicedWork<string> =>
      counted(3, (step) => {
        if (step === 2) throw new Error('broken');
      });
    expect(() => runSync(failing())).toThrow('broken');
    await expect(runInTurns(failing(), { scheduler: new TurnScheduler({ budgetMs: 0 }) })).rejects.toThrow('broken');
  });

  test('the budget starts again after each pause', async () => {
    const turns = new EventLoopTurns({ scheduler: new TurnScheduler({ budgetMs: 60_000 }) });
    expect(turns.due).toBe(false);
    await turns.next();
    expect(turns.due).toBe(false);
    expect(new EventLoopTurns({ scheduler: new TurnScheduler({ budgetMs: 0 }) }).due).toBe(true);
  });

  test('work with a fired signal stops at its next slice', async () => {
    const gone = new AbortController();
    const steps: number[] = [];
    const work = counted(5, (step) => {
      steps.push(step);
      if (step === 1) gone.abort();
    });
    await expect(
      runInTurns(work, { signal: gone.signal, scheduler: new TurnScheduler({ budgetMs: 0 }) }),
    ).rejects.toMatchObject({ code: 504 });
    expect(steps).toEqual([0, 1]);
  });
});
