import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { newLogger } from './logger.ts';

test('an error under err is logged with its type, position and causes, also one that a plugin has converted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-logger-'));
  try {
    const file = join(folder, 'log');
    const log = newLogger({ 'svc.log.level': 'info', 'svc.log.format': 'auto' }, openSync(file, 'w'));
    log.warn(
      { err: new TypeError('failed', { cause: Object.assign(new Error('lost'), { client: { key: 'k' } }) }) },
      'one',
    );
    log.warn(
      {
        err: {
          type: 'TypeError',
          message: 'failed',
          stack: 'TypeError: failed\n    at index.ts:3:1',
          cause: { message: 'lost' },
        },
      },
      'another',
    );
    log.warn({ err: { headers: { cookie: 'c' } } }, 'none');
    const [one, another, none] = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { err: unknown }).err);
    expect(one).toEqual({
      type: 'TypeError',
      message: 'failed',
      stack: expect.stringContaining('logger.test'),
      cause: { type: 'Error', message: 'lost', stack: expect.any(String) },
    });
    expect(another).toEqual({
      type: 'TypeError',
      message: 'failed',
      stack: 'TypeError: failed\n    at index.ts:3:1',
      cause: { message: 'lost' },
    });
    expect(none).toEqual({ message: 'an object without a message: {"headers":{"cookie":"***"}}' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a failure of the database is named for its error, and for an error caused by it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-logger-'));
  try {
    const file = join(folder, 'log');
    const log = newLogger({ 'svc.log.level': 'info', 'svc.log.format': 'json' }, openSync(file, 'w'));
    const full = Object.assign(new Error('could not extend file'), { code: '53100', severity: 'ERROR' });
    const errors = [
      full,
      new Error('translated', { cause: new Error('once', { cause: full }) }),
      new Error('lost', { cause: new Error('Connection terminated unexpectedly') }),
      new Error('a fault of ours'),
    ];
    for (const err of errors) log.warn({ err }, 'failed');
    const failures = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { err: { failure?: string } }).err.failure);
    expect(failures).toEqual(['disk_full', 'disk_full', 'connection_lost', undefined]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('log lines for people are written before the call returns, without colours into a file', () => {
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
