import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { ByteBudget } from '#pkg/http/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import {
  newTestPost,
  posts,
  startReplica,
  startTestApi,
  type TestApiResponse,
  type TestApi,
  type TestReplica,
} from './start-test-api.ts';

const megabyte = 1024 * 1024;
const large = 600_000;

function largePost(name: string): object {
  return newTestPost(name, { text: 'x'.repeat(large) });
}

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.stop());

interface Served {
  url: string;
  metrics: Registry;
  call: (...request: Parameters<TestReplica['call']>) => Promise<TestApiResponse>;
}

/** Runs `work` on a replica with a budget, on the same store; all memory must be released at the end. */
async function withBudget(budget: ByteBudget, work: (served: Served) => Promise<void>): Promise<void> {
  const metrics = new Registry();
  const replica = await startReplica(api.store, { metrics, http: { host: '127.0.0.1', port: 0, byteBudget: budget } });
  try {
    await work({ url: replica.url, metrics, call: (...request) => replica.call(...request) });
  } finally {
    await replica.stop();
  }
  expect({
    transfer: budget.transfer.used,
    parsed: budget.parsed.used,
    waiting: budget.transfer.waiting + budget.parsed.waiting,
  }).toEqual({ transfer: 0, parsed: 0, waiting: 0 });
}

/** The peak of the used memory until `work` was done. */
async function mostUsed(
  budget: ByteBudget,
  work: () => Promise<TestApiResponse[]>,
): Promise<{ transfer: number; parsed: number; answers: TestApiResponse[] }> {
  const transfer = watchPeak(budget.transfer);
  const parsed = watchPeak(budget.parsed);
  const answers = await work();
  return { transfer: transfer(), parsed: parsed(), answers };
}

/** Returns what ends the watch and returns the most bytes that were used meanwhile. */
function watchPeak(pool: ByteBudget['transfer']): () => number {
  const add = pool.add.bind(pool);
  let peak = pool.used;
  pool.add = (...grant) => {
    add(...grant);
    peak = Math.max(peak, pool.used);
  };
  return () => {
    pool.add = add;
    return peak;
  };
}

function statusesOf(answers: readonly TestApiResponse[]): number[] {
  return [...new Set(answers.map(({ status }) => status))];
}

describe('requests that together exceed the memory budget', () => {
  test('of any kind wait for each other, and all are answered', async () => {
    const budget = new ByteBudget({ total: 24 * megabyte, parsed: 64 * megabyte, maxWaitMs: 20_000 });
    await withBudget(budget, async ({ call }) => {
      const many = <T>(work: (i: number) => Promise<T>, count = 6): Promise<T[]> =>
        Promise.all(Array.from({ length: count }, (_, i) => work(i)));
      const run = async (kind: string, work: () => Promise<TestApiResponse[]>, expected: number): Promise<void> => {
        const most = await mostUsed(budget, work);
        expect({ kind, statuses: statusesOf(most.answers) }).toEqual({ kind, statuses: [expected] });
        // One request at a time, if it already holds memory, may exceed the budget.
        expect({
          kind,
          isCounted: most.transfer > 0,
          isWithin: most.transfer <= 44 * megabyte && most.parsed <= 96 * megabyte,
        }).toEqual({ kind, isCounted: true, isWithin: true });
      };
      const start = (await call('GET', `${posts}?limit=1`)).body.metadata.resourceVersion as string;
      await run(
        'dry run',
        () => many((i) => call('POST', `${posts}?dryRun=All`, { body: largePost(`dry-${i}`) }), 12),
        201,
      );
      await run('create', () => many((i) => call('POST', posts, { body: largePost(`large-${i}`) })), 201);
      await run('get', () => many((i) => call('GET', `${posts}/large-${i}`)), 200);
      await run(
        'YAML',
        () => many((i) => call('GET', `${posts}/large-${i}`, { headers: { Accept: 'application/yaml' } })),
        200,
      );
      await run(
        'patch',
        () =>
          many((i) =>
            call('PATCH', `${posts}/large-0`, {
              body: { metadata: { labels: { [`l${i}`]: 'x' } } },
              headers: { 'Content-Type': 'application/merge-patch+json' },
            }),
          ),
        200,
      );
      await run(
        'put',
        () => many((i) => call('PUT', `${posts}/large-${i}?dryRun=All`, { body: largePost(`large-${i}`) })),
        200,
      );
      await run('list', () => many(() => call('GET', posts), 3), 200);
      await run('page', () => many(() => call('GET', `${posts}?size=100`), 3), 200);
      await run('chunk', () => many(() => call('GET', `${posts}?limit=100`), 3), 200);
      const first = await call('GET', `${posts}?limit=1`);
      await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          call('PUT', `${posts}/large-${i}`, { body: newTestPost(`large-${i}`, { text: `${'x'.repeat(large)}y` }) }),
        ),
      );
      await run(
        'continued chunk',
        () => many(() => call('GET', `${posts}?limit=100&continue=${first.body.metadata.continue}`), 3),
        200,
      );
      await run(
        'watch from an old revision',
        () => many(() => call('GET', `${posts}?watch=true&resourceVersion=${start}&timeoutSeconds=1`), 4),
        200,
      );
      await run('delete', () => many((i) => call('DELETE', `${posts}/large-${i}`), 3), 200);
      await run('delete all', () => many(() => call('DELETE', posts), 1), 200);
    });
  });

  test('are 429 for a client whose share is used up for too long, and other clients are not affected', async () => {
    const budget = new ByteBudget({ total: 8 * megabyte, parsed: 16 * megabyte, maxWaitMs: 0 });
    await withBudget(budget, async ({ call, metrics }) => {
      const create = (user: string): Promise<TestApiResponse> =>
        call('POST', `${posts}?dryRun=All`, { body: largePost('shared'), headers: { 'x-user': user } });
      const held = { owner: 'user:greedy', bytes: 0 };
      budget.transfer.add(held, 4 * megabyte);
      const refused = await create('greedy');
      expect(refused.body).toMatchObject({
        code: 429,
        reason: 'TooManyRequests',
        message: expect.stringContaining('of one user'),
      });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect((await create('modest')).status).toBe(201);
      const others = { owner: 'user:others', bytes: 0 };
      budget.transfer.add(others, 4 * megabyte);
      expect((await create('modest')).body.message).not.toContain('of one user');
      budget.transfer.give(others, others.bytes);
      const refusals = await metrics.getSingleMetricAsString('svc_requests_refused_total');
      expect(refusals).toContain('{reason="user_bytes"} 1');
      expect(refusals).toContain('{reason="bytes"} 1');
      const small = await call('POST', `${posts}?dryRun=All`, {
        body: newTestPost('small'),
        headers: { 'x-user': 'greedy' },
      });
      expect(small.status).toBe(201);
      budget.transfer.give(held, held.bytes);
      expect((await create('greedy')).status).toBe(201);
    });
  });

  test('a patch of an object that is too large at the moment is refused before anything is written', async () => {
    expect((await api.call('POST', posts, { body: largePost('kept') })).status).toBe(201);
    const repeated = {
      body: { metadata: { annotations: { a: 'b' } } },
      headers: { 'Content-Type': 'application/merge-patch+json', 'Idempotency-Key': 'once', 'x-user': 'tester' },
    };
    expect((await api.call('PATCH', `${posts}/kept`, repeated)).status).toBe(200);
    const budget = new ByteBudget({ total: 4 * megabyte, parsed: 16 * megabyte, maxWaitMs: 0 });
    await withBudget(budget, async ({ call }) => {
      const held = { owner: 'user:tester', bytes: 0 };
      budget.transfer.add(held, 2 * megabyte);
      const patched = await call('PATCH', `${posts}/kept`, {
        body: { metadata: { labels: { a: 'b' } } },
        headers: { 'Content-Type': 'application/merge-patch+json' },
      });
      expect(patched.status).toBe(429);
      expect((await call('GET', `${posts}/kept`)).status).toBe(429);
      expect((await call('PATCH', `${posts}/kept`, repeated)).status).toBe(429);
      expect((await call('GET', `${posts}?limit=1`)).status).toBe(429);
      budget.transfer.give(held, held.bytes);
      expect((await call('PATCH', `${posts}/kept`, repeated)).headers.get('idempotent-replayed')).toBe('true');
      expect((await call('GET', `${posts}/kept`)).body.metadata.labels).toBeUndefined();
    });
    expect((await api.call('DELETE', `${posts}/kept`)).status).toBe(200);
  });
});

describe('a watch', () => {
  const body = (name: string, letter: string): object => newTestPost(name, { text: letter.repeat(2_500_000) });

  /** Opens a connection that sends the request and reads nothing. */
  async function openUnread({ url }: Served, path: string): Promise<Socket> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.pause().write(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
    return socket;
  }

  test('counts history that its client has not read, and is 429 if there is no memory for it', async () => {
    const names = ['old-0', 'old-1', 'old-2', 'old-3'];
    const before = (await api.call('GET', `${posts}?limit=1`)).body.metadata.resourceVersion as string;
    for (const [method, letter] of [
      ['POST', 'a'],
      ['PUT', 'b'],
    ] as const) {
      for (const name of names)
        expect(
          (await api.call(method, method === 'POST' ? posts : `${posts}/${name}`, { body: body(name, letter) })).status,
        ).toBe(method === 'POST' ? 201 : 200);
    }
    const watch = `${posts}?watch=true&resourceVersion=${before}&timeoutSeconds=10`;
    const budget = new ByteBudget({ total: 64 * megabyte, parsed: 64 * megabyte, maxWaitMs: 0 });
    await withBudget(budget, async (served) => {
      const unread: Socket[] = [];
      // Each connection holds one object twice.
      while (unread.length < 6) {
        unread.push(await openUnread(served, watch));
        await pollUntil(() => budget.transfer.used >= unread.length * 5_000_000);
      }
      expect((await served.call('GET', watch)).body).toMatchObject({
        code: 429,
        message: expect.stringContaining('of one user'),
      });
      const all = ['ADDED', 'MODIFIED'].flatMap((type) => names.map((name) => `${type} ${name}`));
      const lines = async (user: string): Promise<string[]> => {
        const answer = await fetch(`${served.url}${watch}`, { headers: { 'x-user': user } });
        const pieces: string[] = [];
        let ends = 0;
        for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
          pieces.push(piece);
          ends += piece.split('\n').length - 1;
          if (ends >= all.length) break;
        }
        return Array.from(
          pieces.join('').matchAll(/"type":"([A-Z]+)".*?"name":"([^"]+)"/g),
          ([, type, name]) => `${type} ${name}`,
        );
      };
      expect(await lines('modest')).toEqual(all);
      for (const socket of unread) socket.destroy();
      await pollUntil(() => budget.transfer.used === 0);
      expect(await lines('tester')).toEqual(all);
    });
    await Promise.all(names.map((name) => api.call('DELETE', `${posts}/${name}`)));
  });

  test('counts current events that its client has not read', async () => {
    expect((await api.call('POST', posts, { body: body('now', '0') })).status).toBe(201);
    const budget = new ByteBudget({ total: 64 * megabyte, parsed: 64 * megabyte });
    await withBudget(budget, async (served) => {
      const { metadata } = (await served.call('GET', `${posts}?limit=1`)).body;
      const socket = await openUnread(served, `${posts}?watch=true&resourceVersion=${metadata.resourceVersion}`);
      // More than the system buffers for the server.
      for (let i = 1; budget.transfer.used < 2_500_000 && i < 10; i += 1)
        expect((await api.call('PUT', `${posts}/now`, { body: body('now', `${i}`) })).status).toBe(200);
      expect(budget.transfer.used).toBeGreaterThan(2_500_000);
      socket.destroy();
      await pollUntil(() => budget.transfer.used === 0);
    });
    await api.call('DELETE', `${posts}/now`);
  });
});

test('an unread response counts until its connection ends', async () => {
  const names = ['unread-0', 'unread-1', 'unread-2', 'unread-3', 'unread-4'];
  // More than the system buffers for the server.
  for (const name of names)
    expect((await api.call('POST', posts, { body: newTestPost(name, { text: 'x'.repeat(2_500_000) }) })).status).toBe(
      201,
    );
  const budget = new ByteBudget({ total: 64 * megabyte, parsed: 64 * megabyte });
  await withBudget(budget, async ({ url }) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.pause();
    for (const name of names) socket.write(`GET ${posts}/${name} HTTP/1.1\r\nHost: h\r\n\r\n`);
    await pollUntil(() => budget.transfer.used >= 2_500_000 && budget.transfer.used <= 12_500_000);
    const ended = once(socket, 'close');
    socket.destroy();
    await ended;
    await pollUntil(() => budget.transfer.used === 0);
  });
  await Promise.all(names.map((name) => api.call('DELETE', `${posts}/${name}`)));
});
