import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { newLogger } from './logger.ts';

test('what is logged under err says what it is, where it comes from and why, whether it is an error or what a plugin made of one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-logger-'));
  try {
    const file = join(folder, 'log');
    const log = newLogger({ 'svc.log.level': 'info', 'svc.log.format': 'auto' }, openSync(file, 'w'));
    log.warn({ err: new TypeError('failed', { cause: Object.assign(new Error('lost'), { client: { key: 'k' } }) }) }, 'one');
    log.warn({ err: { type: 'TypeError', message: 'failed', stack: 'TypeError: failed\n    at index.ts:3:1', cause: { message: 'lost' } } }, 'another');
    log.warn({ err: { headers: { cookie: 'c' } } }, 'none');
    const [one, another, none] = readFileSync(file, 'utf8').trim().split('\n').map((line) => (JSON.parse(line) as { err: unknown }).err);
    expect(one).toEqual({ type: 'TypeError', message: 'failed', stack: expect.stringContaining('logger.test'), cause: { type: 'Error', message: 'lost', stack: expect.any(String) } });
    expect(another).toEqual({ type: 'TypeError', message: 'failed', stack: 'TypeError: failed\n    at index.ts:3:1', cause: { message: 'lost' } });
    expect(none).toEqual({ message: 'an object without a message: {"headers":{"cookie":"***"}}' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what is logged for people is written before the call returns, without colours into a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-logger-'));
  try {
    const file = join(folder, 'log');
    const log = newLogger({ 'svc.log.level': 'warn', 'svc.log.format': 'pretty' }, openSync(file, 'w'));
    log.info({}, 'not shown');
    log.fatal({ tries: 2 }, 'last words');
    expect(readFileSync(file, 'utf8')).toMatch(/^\[[\d:.]+\] FATAL: last words \{"tries":2\}\n$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
