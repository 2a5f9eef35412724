import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { stdoutSink } from './backup-command.ts';

type Written = (error?: Error) => void;

/** Far below the high-water mark. */
const piece = Buffer.from('a last piece');

test('ends when a slow reader has read the last chunk, and stdout stays open', async () => {
  const waiting: Written[] = [];
  const stdout = new Writable({ write: (_piece, _encoding, done) => void waiting.push(done) });
  let hasEnded = false;
  const sending = pipeline(Readable.from([piece, piece]), stdoutSink(stdout)).then(() => (hasEnded = true));
  for (let taken = 0; taken < 2; taken += 1) {
    while (waiting.length === 0) await turn();
    await turn();
    expect(hasEnded).toBe(false);
    waiting.pop()!();
  }
  await sending;
  expect(stdout.writableEnded).toBe(false);
});

test('fails when the reader of stdout has ended', async () => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const stdout = new Writable({ write: (_piece, _encoding, done) => done(gone) });
  await expect(pipeline(Readable.from([piece]), stdoutSink(stdout))).rejects.toBe(gone);
});
