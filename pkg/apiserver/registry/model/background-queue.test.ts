import { describe, expect, test } from '@jest/globals';
import pino from 'pino';
import { BackgroundQueue } from './background-queue.ts';
import { pollUntil } from '../registrytest/api-client.ts';

const log = pino({ level: 'silent' });

describe('BackgroundQueue', () => {
  test('processes each key until it is done, then forgets it, and retries failures', async () => {
    const turns: string[] = [];
    const outcomes: Record<string, ('done' | 'again' | 'more' | 'throw')[]> = {
      a: ['again', 'throw', 'more', 'done'],
      b: ['done'],
    };
    const work = async (key: string): Promise<'done' | 'again' | 'more'> => {
      turns.push(key);
      const outcome = outcomes[key]!.shift()!;
      if (outcome === 'throw') throw new Error('once');
      return outcome;
    };
    const queue = new BackgroundQueue({ name: 'work', work, log, firstPauseMs: 1, maxPauseMs: 2 });
    queue.add('a');
    queue.add('b');
    await pollUntil(() => queue.size === 0);
    expect(turns.join('')).toMatch(/^aba{3}$/);
    await queue.stop();
  });

  test('a key that is added while it is processed is processed again', async () => {
    let turns = 0;
    const queue: BackgroundQueue = new BackgroundQueue({
      name: 'work',
      log,
      work: async (key) => {
        turns += 1;
        if (turns === 1) queue.add(key);
        return 'done';
      },
    });
    queue.add('a');
    await pollUntil(() => turns === 2 && queue.size === 0);
    await queue.stop();
  });

  test('stop aborts the running work, waits for it, and accepts no more', async () => {
    let started = false;
    let ended = false;
    const work = (_key: string, signal: AbortSignal): Promise<'again'> =>
      new Promise((resolve) => {
        started = true;
        signal.addEventListener('abort', () => {
          ended = true;
          resolve('again');
        });
      });
    const queue = new BackgroundQueue({ name: 'work', work, log });
    queue.add('a');
    await pollUntil(() => started);
    await queue.stop();
    expect(ended).toBe(true);
    queue.add('b');
    expect(queue.size).toBe(0);
  });
});
