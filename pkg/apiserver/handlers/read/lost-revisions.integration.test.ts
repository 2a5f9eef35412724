import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { newTestPost, posts, startTestApi, type TestApi } from '../start-test-api.ts';

let api: TestApi;
/** The newest revision that a standby had which took over, and one that only the lost server had given out. */
let kept: number;
let lost: number;

beforeAll(async () => {
  api = await startTestApi();
  kept = await create('kept');
  await api.database.pool.query("UPDATE platform.meta SET timeline = 'the one before'");
  lost = kept + 1;
  expect(await create('later')).toBeGreaterThan(lost);
});

afterAll(() => api?.stop());

async function create(name: string): Promise<number> {
  const { status, body } = await api.call('POST', posts, { body: newTestPost(name) });
  expect(status).toBe(201);
  return Number(body.metadata.resourceVersion);
}

const demands: [string, (revision: number) => string][] = [
  ['list', (revision) => `?resourceVersion=${revision}`],
  ['list of a limit', (revision) => `?limit=1&resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`],
  ['page', (revision) => `?page=1&size=1&resourceVersion=${revision}`],
];

test.each(demands)('a %s that is not older than a lost revision is 410', async (_what, query) => {
  expect(await api.call('GET', posts + query(lost))).toMatchObject({
    status: 410,
    body: { reason: 'Expired', message: expect.stringContaining(`too old resource version: ${lost} (`) },
  });
  expect((await api.call('GET', posts + query(kept))).status).toBe(200);
});

test('an object that is not older than a lost revision is 410, unless it is younger', async () => {
  expect((await api.call('GET', `${posts}/kept?resourceVersion=${lost}`)).status).toBe(410);
  expect((await api.call('GET', `${posts}/kept?resourceVersion=${kept}`)).status).toBe(200);
  expect((await api.call('GET', `${posts}/later?resourceVersion=${lost}`)).status).toBe(200);
});

test('a continue token of a lost revision is 410, one from before the failover is not', async () => {
  const { body } = await api.call('GET', `${posts}?limit=1`);
  const token = JSON.parse(Buffer.from(body.metadata.continue, 'base64url').toString()) as JsonObject;
  const asOf = (revision: number): Promise<{ status: number; body: { items?: unknown[] } }> =>
    api.call(
      'GET',
      `${posts}?limit=1&continue=${Buffer.from(JSON.stringify({ ...token, rv: revision })).toString('base64url')}`,
    );
  expect((await asOf(lost)).status).toBe(410);
  expect(await asOf(kept)).toMatchObject({ status: 200 });
});

test('a watch from a lost revision is 410; one from before the failover gets what came later', async () => {
  const watch = (query: string, headers: Record<string, string> = {}): Promise<{ text: string }> =>
    api.call('GET', `${posts}?watch=true&timeoutSeconds=1${query}`, { headers });
  const initial = '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  for (const query of ['', initial]) {
    const { text } = await watch(`${query}&resourceVersion=${lost}`);
    expect(text).toContain('"code":410');
    expect(text).not.toContain('"ADDED"');
  }
  const stream = await watch('', { Accept: 'text/event-stream', 'Last-Event-ID': String(lost) });
  expect(stream.text).toContain('"code":410');
  const { text } = await watch(`&resourceVersion=${kept}`);
  expect(text).toMatch(/^\{"type":"ADDED".*"name":"later"/);
});
