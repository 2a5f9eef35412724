import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { FairQueue, type WaitOptions } from './fair-queue.ts';

function newResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

interface Waiting {
  queue: FairQueue;
  /** The names of admitted requests, and `<name> out` of those whose wait ended without. */
  outcomes: string[];
  wait: (name: string, options?: WaitOptions) => ServerResponse;
}

/** `wait` takes the flow from the first letter of the name. */
function start(options: Partial<ConstructorParameters<typeof FairQueue>[0]> = {}): Waiting {
  const queue = new FairQueue({ maxWaitMs: 20_000, ...options });
  const outcomes: string[] = [];
  const wait = (name: string, more: WaitOptions = {}): ServerResponse => {
    const response = newResponse();
    const turn = queue.wait(response, { flow: name[0], ...more });
    if (turn === false) outcomes.push(`${name} out`);
    else void turn.then((isIn) => outcomes.push(isIn ? name : `${name} out`));
    return response;
  };
  return { queue, outcomes, wait };
}

async function admitAll(queue: FairQueue): Promise<void> {
  while (queue.admitNext()) await new Promise(setImmediate);
}

// After 50 ms a flow is served from its end: a busy machine may take so long.
beforeEach(() => {
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
});
afterEach(() => {
  jest.restoreAllMocks();
});

describe('a fair queue', () => {
  test('gives each flow a turn, however many requests another has', async () => {
    const { queue, outcomes, wait } = start();
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']) wait(name);
    await admitAll(queue);
    expect(outcomes).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
    expect([queue.waiting, queue.flows]).toEqual([0, 0]);
  });

  test('puts a flow that begins to wait again behind the others', async () => {
    const { queue, outcomes, wait } = start();
    for (const name of ['a1', 'b1', 'b2']) wait(name);
    queue.admitNext();
    wait('a2');
    await admitAll(queue);
    expect(outcomes).toEqual(['a1', 'b1', 'a2', 'b2']);
  });

  test('serves a flow that has waited long from its end, and others from their beginning', async () => {
    const { queue, outcomes, wait } = start();
    for (const name of ['a1', 'a2']) wait(name, { waitedMs: 60 });
    for (const name of ['a3', 'b1', 'b2']) wait(name);
    await admitAll(queue);
    expect(outcomes).toEqual(['a3', 'b1', 'a2', 'b2', 'a1']);
  });

  test('lets a returning request go ahead of its own flow only', async () => {
    const { queue, outcomes, wait } = start({ maxWaiting: 4, maxWaitingPerFlow: 2 });
    for (const name of ['b1', 'b2', 'a1', 'a2']) wait(name);
    // The bounds do not concern it: it has done a part of its work.
    wait('a0', { isReturning: true, waitedMs: 30_000 });
    await admitAll(queue);
    expect(outcomes).toEqual(['b1', 'a0', 'b2', 'a1', 'a2']);
  });

  test('refuses what exceeds its bounds: of all, and of one flow', () => {
    const { outcomes, wait } = start({ maxWaiting: 3, maxWaitingPerFlow: 2 });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) wait(name);
    expect(outcomes).toEqual(['a3 out', 'b2 out']);
    wait('c1', { waitedMs: 20_000 });
    expect(outcomes.at(-1)).toBe('c1 out');
  });

  test('ends each wait after its time, and forgets the flow', async () => {
    jest.restoreAllMocks();
    const { queue, outcomes, wait } = start({ maxWaitMs: 20 });
    wait('a1');
    wait('b1', { isReturning: true });
    while (queue.waiting > 0) await new Promise(setImmediate);
    expect([outcomes.toSorted(), queue.flows]).toEqual([['a1 out', 'b1 out'], 0]);
    expect(queue.admitNext()).toBe(false);
  });

  test('does not give the turn of a flow to a client that is gone', async () => {
    const { queue, outcomes, wait } = start();
    const gone = wait('a1');
    for (const name of ['b1', 'a2']) wait(name);
    // Destroyed, and not yet told.
    gone.destroy();
    expect(queue.admitNext()).toBe(true);
    await new Promise(setImmediate);
    expect(outcomes).toEqual(['a1 out', 'a2']);
    wait('c1').emit('close');
    await admitAll(queue);
    expect(outcomes).toEqual(['a1 out', 'a2', 'c1 out', 'b1']);
    expect([queue.waiting, queue.flows]).toEqual([0, 0]);
  });

  test('delays no flow by more than one request of each other flow, and keeps no flow', async () => {
    const arrivals = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(arrivals, async (flows) => {
        const { queue, outcomes, wait } = start();
        for (const [i, flow] of flows.entries()) wait(`${flow}${i}`);
        await admitAll(queue);
        const names = [...new Set(flows)];
        for (const name of names) {
          const turns = outcomes.flatMap((each, at) => (each.startsWith(name) ? [at] : []));
          for (const [i, at] of turns.entries())
            expect(at - (i === 0 ? -1 : turns[i - 1]!)).toBeLessThanOrEqual(names.length);
        }
        expect([outcomes.length, queue.waiting, queue.flows]).toEqual([flows.length, 0, 0]);
      }),
      { numRuns: 50 },
    );
  });
});
