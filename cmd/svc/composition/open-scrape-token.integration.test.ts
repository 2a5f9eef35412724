import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { OperatorError } from '../options/operator-error.ts';
import { loadOptions } from '../options/load-options.ts';
import { openScrapeToken } from './open-scrape-token.ts';

const first = 'first-scrape-token';
const second = 'second-scrape-token';
let folder: string;
let file: string;
let logged: { reason?: string; msg: string }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-scrape-'));
  file = join(folder, 'token');
  logged = [];
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

function open(...args: string[]): ReturnType<typeof openScrapeToken> {
  const { options } = loadOptions({ configFolder: folder, environment: {}, args });
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number]) });
  return openScrapeToken(options, log);
}

/** The clock of the process, moved on by this many seconds. */
function moveClock(seconds: number): void {
  const now = performance.now() + seconds * 1000;
  jest.spyOn(performance, 'now').mockReturnValue(now);
}

test('there is none without an option', async () => {
  expect(await open()).toBeUndefined();
});

test('it may be an option', async () => {
  expect(await (await open(`--svc.metrics.token=${first}`))!()).toBe(first);
});

test('a file is read again after five seconds', async () => {
  await writeFile(file, `${first}\n`);
  const token = (await open(`--svc.metrics.token-file=${file}`))!;
  await writeFile(join(folder, 'next'), second);
  await rename(join(folder, 'next'), file);
  moveClock(4);
  expect(await token()).toBe(first);
  moveClock(2);
  expect(await Promise.all([token(), token()])).toEqual([second, second]);
  expect(logged).toEqual([]);
});

test('the last token stays if the file becomes unusable, which is logged once', async () => {
  await writeFile(file, first);
  const token = (await open(`--svc.metrics.token-file=${file}`))!;
  await writeFile(file, 'short');
  for (const seconds of [6, 12]) {
    moveClock(seconds);
    expect(await token()).toBe(first);
  }
  await rm(file);
  moveClock(6);
  expect(await token()).toBe(first);
  expect(logged.map(({ msg, reason }) => `${msg}: ${reason}`)).toEqual([
    `kept the scrape token: svc.metrics.token-file holds no token: ${file} must hold a token of 16 to 512 letters, digits and -._~+/.`,
    `kept the scrape token: svc.metrics.token-file cannot be read: ${file} (ENOENT).`,
  ]);
});

test.each([
  [
    ['--svc.metrics.token=secret'],
    'The option --svc.metrics.token is malformed: its value is not a token of 16 to 512 letters, digits and -._~+/.',
  ],
  [['--svc.metrics.token=first scrape token'], '--svc.metrics.token is malformed'],
  [[`--svc.metrics.token=${first}`, '--svc.metrics.token-file=x'], 'are both set; remove one.'],
  [['--svc.metrics.token-file=/nowhere/token'], 'svc.metrics.token-file cannot be read: /nowhere/token (ENOENT).'],
])('%j is refused', async (args, sentence) => {
  const refusal = await Promise.resolve()
    .then(() => open(...args))
    .catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(OperatorError);
  expect((refusal as Error).message).toContain(sentence);
  expect((refusal as Error).message).not.toContain('secret');
});
