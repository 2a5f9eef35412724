import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { runUntilSignal } from './run-until-signal.ts';

test('what can no longer go on as it is is stopped, and ends with 1', async () => {
  let stopped = 0;
  const running = {
    failed: Promise.resolve('the ground moved'),
    stop: async () => {
      stopped += 1;
      return true;
    },
  };
  expect(await runUntilSignal(async () => running, { log: pino({ level: 'silent' }), drainTimeoutMs: 1000 })).toBe(1);
  expect(stopped).toBe(1);
});
