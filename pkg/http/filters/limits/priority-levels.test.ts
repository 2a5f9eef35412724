import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { priorityLevels, type PriorityLevel } from './priority-level.ts';
import { PriorityLevels, type PriorityLevelsOptions } from './priority-levels.ts';

function newResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

/** Sends `count` requests of a level; the names of those that got a slot are added to `admitted`. */
function send(levels: PriorityLevels, level: PriorityLevel, count: number, admitted: string[] = []): void {
  const enter = async (): Promise<void> => {
    if (await levels.of(level).enter(newResponse())) admitted.push(level);
  };
  for (let i = 0; i < count; i += 1) void enter();
}

function running(levels: PriorityLevels): Record<PriorityLevel, number> {
  return { system: levels.of('system').running, users: levels.of('users').running, bulk: levels.of('bulk').running };
}

const options: PriorityLevelsOptions = { total: 16, reserved: 4, bulk: 2, maxWaitMs: 20_000 };

describe('priority levels', () => {
  test.each<[string, Partial<PriorityLevelsOptions>, Record<PriorityLevel, [share: number, max: number]>]>([
    ['as asked', {}, { system: [4, 16], users: [10, 12], bulk: [2, 2] }],
    ['a quarter at most', { reserved: 9, bulk: 9 }, { system: [4, 16], users: [8, 12], bulk: [4, 4] }],
    ['of few slots', { total: 2 }, { system: [0, 2], users: [2, 2], bulk: [0, 1] }],
    ['of one', { total: 1 }, { system: [0, 1], users: [1, 1], bulk: [0, 1] }],
    [
      'nothing reserved, bulk not limited',
      { reserved: 0, bulk: undefined },
      { system: [0, 16], users: [16, 16], bulk: [0, 16] },
    ],
    [
      'without a limit of all',
      { total: Infinity },
      { system: [4, Infinity], users: [Infinity, Infinity], bulk: [2, 2] },
    ],
  ])('have shares %s', (_reason, more, expected) => {
    const levels = new PriorityLevels({ ...options, ...more });
    const shares = priorityLevels.map((name) => [name, [levels.of(name).share, levels.of(name).max]]);
    expect(Object.fromEntries(shares)).toEqual(expected);
  });

  test('users and bulk together leave the reserved slots to system', () => {
    const levels = new PriorityLevels(options);
    send(levels, 'bulk', 10);
    send(levels, 'users', 100);
    expect(running(levels)).toEqual({ system: 0, users: 10, bulk: 2 });
    send(levels, 'system', 5);
    expect(running(levels)).toEqual({ system: 4, users: 10, bulk: 2 });
    expect(levels.waiting).toBe(8 + 90 + 1);
  });

  test('users borrow idle slots of bulk, and bulk gets them back first', async () => {
    const levels = new PriorityLevels(options);
    send(levels, 'users', 20);
    expect(running(levels).users).toBe(12);
    const admitted: string[] = [];
    send(levels, 'bulk', 3, admitted);
    for (let i = 0; i < 3; i += 1) levels.of('users').leave();
    await new Promise(setImmediate);
    expect([admitted, running(levels)]).toEqual([['bulk', 'bulk'], { system: 0, users: 10, bulk: 2 }]);
  });

  test('system borrows every idle slot, and users get theirs back first', async () => {
    const levels = new PriorityLevels(options);
    send(levels, 'system', 20);
    expect(running(levels).system).toBe(16);
    const admitted: string[] = [];
    send(levels, 'users', 2, admitted);
    for (let i = 0; i < 3; i += 1) levels.of('system').leave();
    await new Promise(setImmediate);
    expect([admitted, running(levels)]).toEqual([['users', 'users'], { system: 14, users: 2, bulk: 0 }]);
  });

  test('bulk never borrows', () => {
    const levels = new PriorityLevels(options);
    send(levels, 'bulk', 5);
    expect([running(levels).bulk, levels.waiting]).toEqual([2, 3]);
  });

  test('no slot is lost, and a level below its share waits only for running requests', () => {
    const step = fc.record({ level: fc.constantFrom(...priorityLevels), comes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const levels = new PriorityLevels({ ...options, total: 8, reserved: 2 });
        let came = 0;
        for (const { level, comes } of steps) {
          const { running: before } = levels.of(level);
          if (comes) {
            came += 1;
            void levels.of(level).enter(newResponse());
          } else if (before > 0) {
            came -= 1;
            levels.of(level).leave();
          }
          const { system, users, bulk } = running(levels);
          expect(levels.running + levels.waiting).toBe(came);
          expect(levels.running).toBeLessThanOrEqual(8);
          expect(users + bulk).toBeLessThanOrEqual(6);
          expect(bulk).toBeLessThanOrEqual(2);
          if (system < 2) expect(levels.of('system').waiting).toBe(0);
          if (levels.running < 6) expect(levels.of('users').waiting).toBe(0);
        }
      }),
      { numRuns: 100 },
    );
  });
});
