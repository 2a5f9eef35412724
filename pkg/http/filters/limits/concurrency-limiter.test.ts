import { ServerResponse, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';

function newResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

/** Enters one after the other; each result is added to `outcomes` when it is known. */
function enterAll(limiter: ConcurrencyLimiter, names: readonly string[], outcomes: string[], waitedMs = 0): void {
  for (const name of names)
    void Promise.resolve(limiter.enter(newResponse(), waitedMs)).then((isIn) =>
      outcomes.push(`${name} ${isIn ? 'in' : 'out'}`),
    );
}

async function settled(): Promise<void> {
  await new Promise(setImmediate);
}

describe('a limiter', () => {
  test('serves in order of arrival while nobody waits long', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1000);
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaitMs: 20_000 });
    const outcomes: string[] = [];
    enterAll(limiter, ['a', 'b', 'c'], outcomes);
    for (let i = 0; i < 3; i += 1) {
      await settled();
      limiter.leave();
    }
    expect(outcomes).toEqual(['a in', 'b in', 'c in']);
    clock.mockRestore();
  });

  test('admits the newest if the oldest has waited too long to be served in time', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaitMs: 20_000 });
    const outcomes: string[] = [];
    enterAll(limiter, ['a', 'b'], outcomes, 60);
    enterAll(limiter, ['c', 'd'], outcomes);
    for (let i = 0; i < 4; i += 1) {
      await settled();
      limiter.leave();
    }
    expect(outcomes).toEqual(['a in', 'd in', 'c in', 'b in']);
  });

  test('refuses a request that has waited too long, here or before, and one that finds the queue full', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaitMs: 10, maxWaiting: 1 });
    expect(limiter.enter(newResponse())).toBe(true);
    expect(limiter.enter(newResponse(), 10)).toBe(false);
    const waiting = limiter.enter(newResponse());
    expect(limiter.enter(newResponse())).toBe(false);
    expect(await waiting).toBe(false);
    expect([limiter.running, limiter.waiting]).toEqual([1, 0]);
  });

  test('skips aborted requests', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaitMs: 20_000 });
    expect(limiter.enter(newResponse())).toBe(true);
    const gone = newResponse();
    const turns = [limiter.enter(gone), limiter.enter(newResponse())];
    gone.destroy();
    limiter.leave();
    expect([await turns[0], await turns[1]]).toEqual([false, true]);
  });

  test('removes an aborted request at once', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaitMs: 20_000, maxWaiting: 2 });
    expect(limiter.enter(newResponse())).toBe(true);
    const gone = newResponse();
    const turns = [limiter.enter(gone), limiter.enter(newResponse())];
    gone.emit('close');
    expect([await turns[0], limiter.waiting]).toEqual([false, 1]);
    const last = limiter.enter(newResponse());
    expect(limiter.waiting).toBe(2);
    limiter.leave();
    limiter.leave();
    expect([await turns[1], await last, limiter.running, limiter.waiting]).toEqual([true, true, 1, 0]);
    expect(gone.listenerCount('close')).toBe(0);
  });

  test('refuses each request after its own time, also one that has waited before and came later', async () => {
    const limiter = new ConcurrencyLimiter({ limit: 1, maxWaitMs: 20_000 });
    const outcomes: string[] = [];
    expect(limiter.enter(newResponse())).toBe(true);
    enterAll(limiter, ['fresh'], outcomes);
    expect(await limiter.enter(newResponse(), 19_990)).toBe(false);
    expect([outcomes, limiter.waiting]).toEqual([[], 1]);
    limiter.leave();
    await settled();
    expect(outcomes).toEqual(['fresh in']);
  });

  test('never admits more than its limit, and never blocks while there is room', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.boolean(), { maxLength: 40 }),
        async (limit, steps) => {
          const limiter = new ConcurrencyLimiter({ limit, maxWaitMs: 20_000 });
          let [came, left] = [0, 0];
          for (const comes of steps) {
            if (comes) {
              came += 1;
              void limiter.enter(newResponse());
            } else if (limiter.running > 0) {
              left += 1;
              limiter.leave();
            }
            expect(limiter.running).toBe(Math.min(limit, came - left));
            expect(limiter.waiting).toBe(came - left - limiter.running);
          }
          while (limiter.running > 0) limiter.leave();
        },
      ),
      { numRuns: 50 },
    );
  });
});
