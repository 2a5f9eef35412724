import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { notesPath, posts, newTestPost, startTestApi, type TestApi } from '../start-test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

/** Creates objects of about 2 kB: together they exceed the buffer of a response. */
async function fill(prefix: string, count: number): Promise<void> {
  const body = (i: number) =>
    newTestPost(
      `${prefix}-${i}`,
      { tags: [`${i}`.padStart(1000, 'x'), `${i}`.padStart(900, 'y')] },
      { labels: { of: prefix } },
    );
  const statuses = await Promise.all(
    Array.from({ length: count }, async (_, i) => (await api.call('POST', posts, { body: body(i) })).status),
  );
  expect(new Set(statuses)).toEqual(new Set([201]));
}

function names(body: { items: { metadata: { name: string } }[] }): string[] {
  return body.items.map(({ metadata }) => metadata.name);
}

test('lists the deleted objects at its revision, and keeps objects that were created or recreated meanwhile', async () => {
  await fill('many', 520);
  const meant = (await api.call('GET', `${posts}?limit=1`)).body.metadata.resourceVersion as string;
  const response = await fetch(`${api.url}${posts}?labelSelector=of%3Dmany`, { method: 'DELETE' });
  // The response has begun: the first objects are deleted, and can be recreated.
  const again = await api.call('POST', posts, { body: newTestPost('many-0', {}, { labels: { of: 'many' } }) });
  const late = await api.call('POST', posts, { body: newTestPost('many-zzz', {}, { labels: { of: 'many' } }) });
  expect([response.status, again.status, late.status]).toEqual([200, 201, 201]);
  const body = (await response.json()) as {
    metadata: { resourceVersion: string };
    items: { metadata: { name: string } }[];
  };
  expect(body.metadata.resourceVersion).toBe(meant);
  expect(names(body).toSorted()).toEqual(Array.from({ length: 520 }, (_, i) => `many-${i}`).toSorted());
  expect(names((await api.call('GET', `${posts}?labelSelector=of%3Dmany`)).body)).toEqual(['many-0', 'many-zzz']);
});

test('continues if history was compacted', async () => {
  await fill('cut', 520);
  const response = await fetch(`${api.url}${posts}?labelSelector=of%3Dcut`, { method: 'DELETE' });
  await api.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 3_600_000 });
  expect(names((await response.json()) as Parameters<typeof names>[0])).toHaveLength(520);
  expect(names((await api.call('GET', `${posts}?labelSelector=of%3Dcut`)).body)).toEqual([]);
});

test('stops when its client leaves; sent again, it deletes the rest', async () => {
  await fill('left', 520);
  const abort = new AbortController();
  const response = await fetch(`${api.url}${posts}?labelSelector=of%3Dleft`, {
    method: 'DELETE',
    signal: abort.signal,
  });
  expect(response.status).toBe(200);
  abort.abort();
  const rest = await api.call('DELETE', `${posts}?labelSelector=of%3Dleft`);
  expect(rest.status).toBe(200);
  expect(names((await api.call('GET', `${posts}?labelSelector=of%3Dleft`)).body)).toEqual([]);
});

test('of no objects gives an empty list', async () => {
  const { status, body } = await api.call('DELETE', `${notesPath}?labelSelector=of%3Dnothing`);
  expect([status, body.items]).toEqual([200, []]);
  expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
});
