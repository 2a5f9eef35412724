import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { EventLoopTurns } from '#pkg/apimachinery/index';
import { readBody } from './read-body.ts';
import { sendJson } from '../answer/respond.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { ByteBudget } from '../memory/byte-budget.ts';

const kilobyte = 1024;
let server: TestHttpServer;

afterEach(() => server.server.close({ drainTimeoutMs: 0 }));

/** Starts a server that answers the length of a body of at most 3 MiB. */
async function start(budget: ByteBudget): Promise<void> {
  server = await startTestServer(async (context) => sendJson(context, 200, String((await readBody(context)).length)), {
    memory: { budget },
  });
}

const declared = (bytes: number): string => `Content-Length: ${bytes}`;
const chunked = 'Transfer-Encoding: chunked';

/** Begins a request; `send` sends this many bytes of its body in one chunk. */
async function begin(
  length: string,
): Promise<{ socket: Socket; send: (bytes: number) => void; answer: Promise<string> }> {
  const socket = await server.open();
  const answer = once(
    socket.on('error', () => undefined),
    'data',
  ).then(([head]) => (head as Buffer).toString());
  socket.write(`POST /x HTTP/1.1\r\nHost: h\r\n${length}\r\n\r\n`);
  const send = (bytes: number): void => {
    const text = 'x'.repeat(bytes);
    socket.write(length === chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text);
  };
  return { socket, send, answer };
}

function keepBusy(ms: number): void {
  const since = performance.now();
  while (performance.now() - since < ms);
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

describe.each([
  { kind: 'that says how long it is', length: declared(3_000_000) },
  { kind: 'that does not', length: chunked },
])('a body $kind', ({ length }) => {
  test('counts by its received bytes', async () => {
    const budget = new ByteBudget({ total: 200_000 * kilobyte, parsed: 1 });
    await start(budget);
    const { send, answer, socket } = await begin(length);
    send(70_000);
    await until(() => budget.transfer.used > 0);
    expect(budget.transfer.used).toBe(128 * kilobyte);
    send(130_000);
    await until(() => budget.transfer.used > 128 * kilobyte);
    expect(budget.transfer.used).toBe(256 * kilobyte);
    send(2_800_000);
    if (length === chunked) socket.write('0\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 200 [^]*\r\n3000000$/);
    await until(() => budget.transfer.used === 0);
  });
});

test('a large body is read when no smaller work needs the event loop', async () => {
  await start(new ByteBudget({ total: 200_000 * kilobyte, parsed: 1 }));
  const { send, answer } = await begin(declared(200_000));
  const turns = new EventLoopTurns({ isLarge: true });
  if (turns.due) await turns.next();
  keepBusy(60);
  let isAnswered = false;
  // The event loop always has work, so that large work waits as long as possible.
  const others = (): void => {
    keepBusy(1);
    if (!isAnswered) setImmediate(others);
  };
  others();
  const begun = performance.now();
  send(200_000);
  expect(await answer).toMatch(/^HTTP\/1.1 200 [^]*\r\n200000$/);
  isAnswered = true;
  expect(performance.now() - begun).toBeGreaterThan(300);
});

test('bodies with few received bytes block nobody, whatever length they announce', async () => {
  const budget = new ByteBudget({ total: 16_000 * kilobyte, parsed: 1, maxWaitMs: 0 });
  await start(budget);
  const slow = await Promise.all(Array.from({ length: 40 }, () => begin(declared(3_000_000))));
  for (const { send } of slow) send(70_000);
  await until(() => budget.transfer.used === 40 * 128 * kilobyte);
  const { send, answer } = await begin(declared(1_000_000));
  send(1_000_000);
  expect(await answer).toMatch(/^HTTP\/1.1 200 /);
});

describe('bodies that each hold a part of the pool and wait for more', () => {
  test('end one after the other', async () => {
    const budget = new ByteBudget({ total: 512 * kilobyte, parsed: 1, maxWaitMs: 60_000 });
    await start(budget);
    const bodies = await Promise.all([1, 2].map(() => begin(declared(600_000))));
    for (const { send } of bodies) send(70_000);
    await until(() => budget.transfer.used === 256 * kilobyte);
    for (const { send } of bodies) send(530_000);
    for (const { answer } of bodies) expect(await answer).toMatch(/^HTTP\/1.1 200 [^]*\r\n600000$/);
  });

  test('are 429 when they have waited for the maximum time', async () => {
    const budget = new ByteBudget({ total: 512 * kilobyte, parsed: 1, maxWaitMs: 50 });
    await start(budget);
    const bodies = await Promise.all([1, 2].map(() => begin(declared(600_000))));
    for (const { send } of bodies) send(70_000);
    await until(() => budget.transfer.used === 256 * kilobyte);
    // Neither body ends: the overdrawn one keeps arriving.
    for (const { send } of bodies) send(520_000);
    expect(await Promise.race(bodies.map(({ answer }) => answer))).toMatch(/^HTTP\/1.1 429 /);
    for (const { send } of bodies) send(10_000);
    const answers = await Promise.all(bodies.map(({ answer }) => answer));
    expect(answers.map((answer) => answer.slice(9, 12)).toSorted()).toEqual(['200', '429']);
  });
});
