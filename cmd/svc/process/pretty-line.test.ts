import { expect, test } from '@jest/globals';
import { prettyLine } from './pretty-line.ts';

const pretty = prettyLine({ colors: false });
const line = (entry: object): string =>
  pretty(`${JSON.stringify({ level: 'warn', time: '2026-01-31T09:30:00.125Z', ...entry })}\n`);

test('time, level, message and fields are one line', () => {
  const text = line({ plugin: 'blog', tries: 2, msg: 'a plugin failed' });
  expect(text).toMatch(/^\[\d\d:30:00\.125\] WARN: a plugin failed \{"plugin":"blog","tries":2\}\n$/);
  expect(line({ msg: 'stopped' })).toMatch(/^\[.*\] WARN: stopped\n$/);
});

test('an error is shown with its stack and its causes', () => {
  const cause = { type: 'Error', message: 'lost', code: '57P01', stack: 'Error: lost\n    at connect (pool.ts:2:1)' };
  const err = { type: 'TypeError', message: 'failed', stack: 'TypeError: failed\n    at run (a.ts:1:1)', cause };
  const text = line({ err, msg: 'tried again' });
  expect(text.split('\n')[0]).toMatch(/WARN: tried again ?$/);
  expect(text).toMatch(/\n +TypeError: failed\n +at run \(a\.ts:1:1\)\n/);
  expect(text).toMatch(/"code": "57P01"[^]*\n +Error: lost\n +at connect \(pool\.ts:2:1\)\n/);
});

test('nothing in an entry controls the terminal, or imitates another entry', () => {
  const hostile = '\u001b[2Jx\r\u009b1m\u202e\n[09:30:00.125] INFO: y';
  const text = line({
    path: hostile,
    err: { type: 'E', message: hostile, stack: hostile, cause: { stack: hostile } },
    msg: hostile,
  });
  // oxlint-disable-next-line no-control-regex -- they are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(text).toContain('\\u001b[2Jx\\u000d\\u009b1m\\u202e\n    [09:30:00.125] INFO: y');
  expect(text.match(/^\[/gm)).toHaveLength(1);
});

test('colours are optional', () => {
  const entry = '{"level":"info","time":"2026-01-31T09:30:00.125Z","msg":"ready"}\n';
  expect(prettyLine({ colors: true })(entry)).toContain('\u001b[32mINFO\u001b[39m');
});
