import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { WorkerToHost } from '../control-message.ts';
import { errorText } from '../error-text.ts';
import { LineBudget } from './line-budget.ts';
import { LineSplitter, maxLineLength } from './line-splitter.ts';
import { PortLog } from './port-log.ts';
import { writeLogMessage } from '../plugin-worker.ts';

test('lines are the same for any split of the input', () => {
  const text = fc
    .array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\r\n', 'ä\n', 'x'.repeat(5000))), {
      maxLength: 20,
    })
    .map((parts) => Buffer.from(parts.join('')).toString());
  fc.assert(
    fc.property(text, fc.array(fc.nat(40), { minLength: 1 }), (said, sizes) => {
      const bytes = Buffer.from(said);
      const linesOf = (pieces: readonly Uint8Array[]): string[] => {
        const lines: string[] = [];
        const splitter = new LineSplitter((line) => lines.push(line));
        for (const piece of pieces) splitter.push(piece);
        splitter.end();
        return lines;
      };
      const pieces: Uint8Array[] = [];
      for (let at = 0, i = 0; at < bytes.length; i += 1) {
        const size = 1 + sizes[i % sizes.length]!;
        pieces.push(bytes.subarray(at, at + size));
        at += size;
      }
      const lines = linesOf([bytes]);
      expect(linesOf(pieces)).toEqual(lines);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(maxLineLength + 3);
    }),
    { numRuns: 50 },
  );
});

test('a limited number of lines is accepted at once and in a second; dropped ones are counted', () => {
  const budget = new LineBudget({ atOnce: 3, perSecond: 2, now: 0 });
  expect([0, 0, 0, 0, 0].map((now) => budget.take(now))).toEqual([0, 0, 0, undefined, undefined]);
  expect([400, 500, 600, 1000].map((now) => budget.take(now))).toEqual([undefined, 3, undefined, 1]);
  expect(Array.from({ length: 4 }, () => budget.take(100_000))).toEqual([1 - 1, 0, 0, undefined]);
});

const hostile = {
  get message(): string {
    throw new Error('no');
  },
};

test.each<[string, unknown, string]>([
  ['an error', new RangeError('far'), 'RangeError: far'],
  ['a text', 'text', 'it threw "text"'],
  ['nothing', undefined, 'it threw undefined'],
  ['a symbol', Symbol('s'), 'it threw symbol'],
  ['an object', { a: 1 }, 'it threw an object without a message: {"a":1}'],
  ['a bigint', 5n, 'it threw something that cannot be shown'],
  ['a trap', hostile, 'it threw something that cannot be shown'],
  [
    'a request with headers',
    { headers: { authorization: 'Bearer abcdef0123456789' } },
    'it threw an object without a message: {"headers":{"authorization":"***"}}',
  ],
  [
    'an error with a cause',
    new Error('not saved', {
      cause: new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED', message: 'refused' } }),
    }),
    '; cause: Error: refused',
  ],
  ['several', new AggregateError([new RangeError('one'), new Error('two')], 'all'), 'AggregateError: all'],
  [
    'the first of several',
    new AggregateError([new RangeError('one'), new Error('two')], 'all'),
    '; of several, the first: RangeError: one',
  ],
  ['an error in the SDK', new Error("'file:///a/sdk-0123456789abcdef/sdk.mjs' does"), "Error: '@svc/sdk' does"],
])('%s that was thrown is described', (_case, thrown, text) => {
  expect(errorText(thrown)).toContain(text);
});

test("the position of an error is the first one in the author's code", () => {
  const stack = [
    'Error: x',
    '    at f (node:internal/a:1:2)',
    '    at g (file:///o/sdk-0123456789abcdef/sdk.mjs:1:2)',
    '    at /p/my plugin/index.ts:3:4',
    '    at h (/p/b.ts:5:6)',
  ].join('\n');
  expect(errorText(Object.assign(new Error('x'), { stack }))).toBe('Error: x (/p/my plugin/index.ts:3:4)');
  expect(
    errorText({ message: 'y'.repeat(5000), stack: `Error: ${'y'.repeat(20_000)}\n    at /p/index.ts:3:4` }),
  ).toMatch(/^Error: y{1500}\.\.\. \(\/p\/index\.ts:3:4\)$/);
  expect(errorText('z'.repeat(5000))).toHaveLength(2003);
});

test('the log continues after any logged value', () => {
  const said: Extract<WorkerToHost, { kind: 'log' }>[] = [];
  const log = new PortLog((message) => said.push(message as (typeof said)[number])).with({ bound: 1 });
  const circle: Record<string, unknown> = {};
  circle['circle'] = circle;
  const anything = log.info.bind(log) as (...args: unknown[]) => void;
  anything({ err: new TypeError('t', { cause: new Error('c') }), big: 5n }, 'an error');
  anything(circle, 'a circle');
  anything(hostile, 'a trap');
  anything({ long: 'x'.repeat(100_000) }, 'y'.repeat(100_000));
  anything('a text alone');
  anything(null, undefined);
  expect(said.map(({ details }) => JSON.parse(details) as object)).toMatchObject([
    { bound: 1, big: '5', err: { type: 'TypeError', message: 't', cause: { message: 'c' } } },
    { bound: 1, circle: { circle: '[circular]' } },
    { bound: 1, message: 'could not be told' },
    { bound: 1, details: expect.stringMatching(/^\{"bound":1,"long":"x+\.\.\.$/) },
    { bound: 1 },
    { bound: 1 },
  ]);
  expect(said.map(({ message }) => message)).toEqual([
    'an error',
    'a circle',
    'a trap',
    'y'.repeat(maxLineLength),
    'a text alone',
    '',
  ]);
  for (let i = 0; i < 1000; i += 1) log.debug({}, 'more');
  expect(said.length).toBeLessThan(600);
});

test('an error with a long name, one that is wide and deep, and many details leave the short parts', () => {
  const said: Extract<WorkerToHost, { kind: 'log' }>[] = [];
  const log = new PortLog((message) => said.push(message as (typeof said)[number])).with({ operationId: 'list' });
  const deep = (levels: number): Error => new Error('l'.repeat(5000), levels === 0 ? {} : { cause: deep(levels - 1) });
  const wide = (levels: number): Error =>
    levels === 0
      ? deep(3)
      : new AggregateError(
          Array.from({ length: 5 }, () => wide(levels - 1)),
          '\0'.repeat(5000),
          { cause: deep(5) },
        );
  log.error(
    { err: Object.assign(new Error('m'), { name: 'x'.repeat(100_000), code: 'y'.repeat(100_000) }), request: '/a' },
    'a name',
  );
  log.error({ err: wide(2), request: '/a', failures: 3, list: [1], long: 'z'.repeat(1000) }, 'wide and deep');
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`detail${i}`, i]));
  log.with(many).error({ err: new Error('m') }, 'many details');
  expect(said.map(({ details }) => JSON.parse(details) as object)).toMatchObject([
    {
      operationId: 'list',
      request: '/a',
      err: { type: `${'x'.repeat(200)}...`, message: 'm', code: `${'y'.repeat(200)}...` },
    },
    {
      operationId: 'list',
      request: '/a',
      failures: 3,
      long: `${'z'.repeat(200)}...`,
      err: { type: 'AggregateError', message: `${'\0'.repeat(200)}...` },
    },
    { operationId: 'list', detail0: 0, err: { type: 'Error', message: 'm' } },
  ]);
  for (const { details } of said) expect(details.length).toBeLessThanOrEqual(4 * maxLineLength);
});

test('logged details cannot imitate the fields of the log', () => {
  const lines: unknown[] = [];
  const take = (details: object, message: string): unknown => lines.push([details, message]);
  const details = JSON.stringify({ level: 'fatal', time: 1, msg: 'm', plugin: 'other', a: 1 });
  writeLogMessage({ kind: 'log', level: 'info', details, message: 'said' }, 'test', {
    debug: take,
    info: take,
    warn: take,
    error: take,
  });
  expect(lines).toEqual([[{ level_: 'fatal', time_: 1, msg_: 'm', plugin: 'test', a: 1 }, 'said']]);
});
