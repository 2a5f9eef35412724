import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { runUntilSignal } from './run-until-signal.ts';

test('after a failure the process is stopped, and exits with 1', async () => {
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

test('it exits even if the stop hangs', async () => {
  const program = `
    import { pino } from 'pino';
    import { runUntilSignal } from ${JSON.stringify(fileURLToPath(new URL('run-until-signal.ts', import.meta.url)))};
    setInterval(() => {}, 1000);
    const running = { failed: Promise.resolve('the ground moved'), stop: () => new Promise(() => {}) };
    await runUntilSignal(async () => running, { log: pino({}, pino.destination({ sync: true })), drainTimeoutMs: 10 });`;
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--import', 'tsx', '--input-type=module', '--eval', program],
    {
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 60_000,
    },
  );
  const [said, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once('close', resolve))]);
  expect(said).toMatch(/the ground moved[^]*the stop took longer than svc\.server\.drain-timeout/);
  expect(code).toBe(1);
}, 60_000);
