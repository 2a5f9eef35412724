import { ServerResponse, IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { Gate } from './gate.ts';

function newResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

/** Enters one after the other; what came of each is added to `outcomes` when it is known. */
function enterAll(gate: Gate, names: readonly string[], outcomes: string[], waitedMs = 0): void {
  for (const name of names)
    void Promise.resolve(gate.enter(newResponse(), waitedMs)).then((isIn) =>
      outcomes.push(`${name} ${isIn ? 'in' : 'out'}`),
    );
}

async function settled(): Promise<void> {
  await new Promise(setImmediate);
}

describe('a gate', () => {
  test('is first come, first served, while nobody waits long', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1000);
    const gate = new Gate({ limit: 1, maxWaitMs: 20_000 });
    const outcomes: string[] = [];
    enterAll(gate, ['a', 'b', 'c'], outcomes);
    for (let i = 0; i < 3; i += 1) {
      await settled();
      gate.leave();
    }
    expect(outcomes).toEqual(['a in', 'b in', 'c in']);
    clock.mockRestore();
  });

  test('lets the newest in where the oldest has waited too long to be served in time', async () => {
    const gate = new Gate({ limit: 1, maxWaitMs: 20_000 });
    const outcomes: string[] = [];
    enterAll(gate, ['a', 'b'], outcomes, 60);
    enterAll(gate, ['c', 'd'], outcomes);
    for (let i = 0; i < 4; i += 1) {
      await settled();
      gate.leave();
    }
    expect(outcomes).toEqual(['a in', 'd in', 'c in', 'b in']);
  });

  test('refuses who has waited too long, elsewhere or here, and who finds no room outside', async () => {
    const gate = new Gate({ limit: 1, maxWaitMs: 10, maxWaiting: 1 });
    expect(gate.enter(newResponse())).toBe(true);
    expect(gate.enter(newResponse(), 10)).toBe(false);
    const waiting = gate.enter(newResponse());
    expect(gate.enter(newResponse())).toBe(false);
    expect(await waiting).toBe(false);
    expect([gate.running, gate.waiting]).toEqual([1, 0]);
  });

  test('passes over who is gone', async () => {
    const gate = new Gate({ limit: 1, maxWaitMs: 20_000 });
    expect(gate.enter(newResponse())).toBe(true);
    const gone = newResponse();
    const turns = [gate.enter(gone), gate.enter(newResponse())];
    gone.destroy();
    gate.leave();
    expect([await turns[0], await turns[1]]).toEqual([false, true]);
  });

  test('is left at once by who is gone', async () => {
    const gate = new Gate({ limit: 1, maxWaitMs: 20_000, maxWaiting: 2 });
    expect(gate.enter(newResponse())).toBe(true);
    const gone = newResponse();
    const turns = [gate.enter(gone), gate.enter(newResponse())];
    gone.emit('close');
    expect([await turns[0], gate.waiting]).toEqual([false, 1]);
    const last = gate.enter(newResponse());
    expect(gate.waiting).toBe(2);
    gate.leave();
    gate.leave();
    expect([await turns[1], await last, gate.running, gate.waiting]).toEqual([true, true, 1, 0]);
    expect(gone.listenerCount('close')).toBe(0);
  });

  test('refuses each in its own time, also who has waited elsewhere and came later', async () => {
    const gate = new Gate({ limit: 1, maxWaitMs: 20_000 });
    const outcomes: string[] = [];
    expect(gate.enter(newResponse())).toBe(true);
    enterAll(gate, ['fresh'], outcomes);
    expect(await gate.enter(newResponse(), 19_990)).toBe(false);
    expect([outcomes, gate.waiting]).toEqual([[], 1]);
    gate.leave();
    await settled();
    expect(outcomes).toEqual(['fresh in']);
  });

  test('never has more in than its limit, nor keeps anybody out while there is room', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.boolean(), { maxLength: 40 }),
        async (limit, steps) => {
          const gate = new Gate({ limit, maxWaitMs: 20_000 });
          let [came, left] = [0, 0];
          for (const comes of steps) {
            if (comes) {
              came += 1;
              void gate.enter(newResponse());
            } else if (gate.running > 0) {
              left += 1;
              gate.leave();
            }
            expect(gate.running).toBe(Math.min(limit, came - left));
            expect(gate.waiting).toBe(came - left - gate.running);
          }
          while (gate.running > 0) gate.leave();
        },
      ),
      { numRuns: 50 },
    );
  });
});
