import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { drainTimes, warnOfShortDelay } from './drain-times.ts';
import { loadOptions } from '../options/load-options.ts';

test.each([
  { reason: 'a delay that fits', delay: '20s', timeout: '45s', delayMs: 20_000, drainTimeoutMs: 20_000, warned: [] },
  { reason: 'no delay', delay: '0s', timeout: '1s', delayMs: 0, drainTimeoutMs: 500, warned: [] },
  {
    reason: 'a delay that is too long',
    delay: '30s',
    timeout: '45s',
    delayMs: 20_000,
    drainTimeoutMs: 20_000,
    warned: [
      { level: 40, shutdownDelayMs: 30_000, usedMs: 20_000, msg: expect.stringMatching(/shutdown-delay is shortened/) },
    ],
  },
  {
    reason: 'a delay that a short timeout halves',
    delay: '2s',
    timeout: '6s',
    delayMs: 1500,
    drainTimeoutMs: 1500,
    warned: [{ level: 40, shutdownDelayMs: 2000, usedMs: 1500, msg: expect.any(String) }],
  },
])('$reason', ({ delay, timeout, delayMs, drainTimeoutMs, warned }) => {
  const { options } = loadOptions({
    environment: {},
    args: [`--svc.server.shutdown-delay=${delay}`, `--svc.server.drain-timeout=${timeout}`],
  });
  expect(drainTimes(options)).toEqual({ delayMs, drainTimeoutMs });
  const lines: unknown[] = [];
  warnOfShortDelay(
    options,
    pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) }),
  );
  expect(lines).toEqual(warned);
});
