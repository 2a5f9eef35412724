import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeYaml } from '#pkg/apimachinery/index';
import { newTestPost, posts, startTestApi, type TestApiResponse, type TestApi } from '../start-test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
  for (let i = 0; i < 25; i += 1) {
    const name = `p${String(i).padStart(2, '0')}`;
    await api.call('POST', posts, {
      body: newTestPost(
        name,
        { title: `t${24 - i}`, tags: i % 2 === 0 ? ['even'] : [] },
        { labels: { parity: i % 2 === 0 ? 'even' : 'odd' } },
      ),
    });
  }
});

afterAll(() => api?.stop());

function list(query = '', headers: Record<string, string> = {}): Promise<TestApiResponse> {
  return api.call('GET', `${posts}${query}`, { headers });
}

function names(answer: TestApiResponse): string[] {
  return answer.body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

describe('list', () => {
  test('of all objects has the complete envelope, with the page fields after the items', async () => {
    const answer = await list();
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body)).toEqual([
      'apiVersion',
      'kind',
      'metadata',
      'items',
      'page',
      'size',
      'total',
      'totalPages',
      'first',
      'last',
      'hasNext',
      'hasPrevious',
    ]);
    expect(answer.body).toMatchObject({
      apiVersion: 'blog.example.com/v1',
      kind: 'PostList',
      page: 1,
      size: 25,
      total: 25,
      totalPages: 1,
      first: true,
      last: true,
    });
    expect(answer.body.metadata).toEqual({ resourceVersion: expect.stringMatching(/^\d+$/) });
    expect(answer.body.items[0]).toMatchObject({
      apiVersion: 'blog.example.com/v1',
      kind: 'Post',
      metadata: { name: 'p00', resourceVersion: expect.any(String) },
    });
    expect(names(answer)).toEqual(names(answer).toSorted());
  });

  test.each([
    [
      '?page=1',
      { page: 1, size: 20, total: 25, totalPages: 2, first: true, last: false, hasNext: true, hasPrevious: false },
      20,
    ],
    [
      '?page=2',
      { page: 2, size: 20, total: 25, totalPages: 2, first: false, last: true, hasNext: false, hasPrevious: true },
      5,
    ],
    [
      '?page=3',
      { page: 3, size: 20, total: 25, totalPages: 2, first: false, last: true, hasNext: false, hasPrevious: true },
      0,
    ],
    ['?size=10', { page: 1, size: 10, total: 25, totalPages: 3 }, 10],
    ['?size=10&labelSelector=parity%3Dodd', { total: 12, totalPages: 2 }, 10],
    ['?size=10&fieldSelector=spec.tags%3Deven', { total: 13, totalPages: 2 }, 10],
    ['?size=10&labelSelector=parity%3Dnone', { total: 0, totalPages: 0, first: true, last: true }, 0],
    ['?fieldSelector=metadata.name%3Dp03', { total: 1, size: 1 }, 1],
    ['?size=2000', { size: 1000, total: 25 }, 25],
  ])('%s', async (query, fields, count) => {
    const answer = await list(query);
    expect(answer.body).toMatchObject(fields);
    expect(answer.body.items).toHaveLength(count);
  });

  test('reduces a size to the maximum, with a warning', async () => {
    expect((await list('?size=1001')).headers.get('warning')).toContain('size 1001 is above the maximum');
  });

  test('is sorted by indexed fields', async () => {
    const sorted = await list('?sort=spec.title,desc&size=3');
    expect(sorted.body.items.map((item: { spec: { title: string } }) => item.spec.title)).toEqual(['t9', 't8', 't7']);
    expect((await list('?sort=spec.tags')).status).toBe(400);
  });

  test.each(['', '&sort=spec.title', '&labelSelector=parity%3Deven'])('in chunks is one snapshot%s', async (more) => {
    const whole = names(await list(`?x=1${more}`));
    const seen: string[] = [];
    const revisions = new Set<string>();
    let token = '';
    let chunks = 0;
    do {
      const answer = await list(`?limit=7${more}${token === '' ? '' : `&continue=${token}`}`);
      expect(Object.keys(answer.body)).toEqual(['apiVersion', 'kind', 'metadata', 'items']);
      seen.push(...names(answer));
      revisions.add(answer.body.metadata.resourceVersion);
      token = answer.body.metadata.continue ?? '';
      expect('remainingItemCount' in answer.body.metadata).toBe(token !== '' && !more.includes('Selector'));
      if (chunks === 0)
        await api.call('PATCH', `${posts}/p20`, {
          body: { metadata: { annotations: { seen: String(Math.random()) } } },
          headers: { 'Content-Type': 'application/merge-patch+json' },
        });
      chunks += 1;
    } while (token !== '');
    expect(seen).toEqual(whole);
    expect(revisions.size).toBe(1);
    expect(chunks).toBeGreaterThan(1);
  });

  test('continues with its own token only', async () => {
    const { body } = await list('?limit=5');
    const token = body.metadata.continue as string;
    for (const query of [
      `?limit=5&labelSelector=a&continue=${token}`,
      `?limit=5&sort=spec.title&continue=${token}`,
      `?limit=5&continue=${token}x`,
      `?page=1&continue=${token}`,
    ]) {
      expect([query, (await list(query)).status]).toEqual([query, 400]);
    }
    expect(names(await list(`?continue=${token}`))).toHaveLength(20);
  });

  test('without its snapshot gives a token that continues without it', async () => {
    const first = await list('?limit=10');
    const write = (i: number) =>
      api.call('PATCH', `${posts}/p24`, {
        body: { metadata: { annotations: { write: String(i) } } },
        headers: { 'Content-Type': 'application/merge-patch+json' },
      });
    for (let i = 0; i < 3; i += 1) await write(i);
    await api.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 3_600_000 });
    await write(4);
    const expired = await list(`?limit=10&continue=${first.body.metadata.continue}`);
    expect(expired).toMatchObject({
      status: 410,
      body: { reason: 'Expired', metadata: { continue: expect.any(String) } },
    });
    const rest = await list(`?limit=100&continue=${expired.body.metadata.continue}`);
    expect(rest.status).toBe(200);
    expect([...names(first), ...names(rest)]).toEqual(names(await list()));
    expect(Number(rest.body.metadata.resourceVersion)).toBeGreaterThan(Number(first.body.metadata.resourceVersion));
  });

  test.each([
    ['?resourceVersion=0', 200],
    ['?resourceVersion=1&size=1', 200],
    ['?resourceVersion=1&resourceVersionMatch=NotOlderThan&limit=1', 200],
    ['?resourceVersion=999999999', 504],
    ['?resourceVersion=999999999&limit=1', 504],
    ['?resourceVersion=1&resourceVersionMatch=Exact', 410],
    ['?resourceVersionMatch=Exact', 422],
    ['?page=-1', 400],
    ['?labelSelector=a%3D%3D%3D', 400],
    ['?fieldSelector=spec.nope%3D1', 400],
  ])('%s is a %i', async (query, status) => {
    expect((await list(query)).status).toBe(status);
  });

  test('is exact at the newest revision', async () => {
    const { body } = await list('?limit=1');
    expect((await list(`?resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=Exact`)).status).toBe(
      200,
    );
  });

  test('works in YAML, with metadata only, and by HEAD', async () => {
    const yaml = await list('', { Accept: 'application/yaml' });
    expect(decodeYaml(Buffer.from(yaml.text)).value).toEqual((await list()).body);
    const partial = await list('?limit=1', {
      Accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    });
    expect(partial.body).toMatchObject({
      kind: 'PartialObjectMetadataList',
      items: [{ kind: 'PartialObjectMetadata' }],
    });
    expect((await api.call('HEAD', posts)).status).toBe(200);
    expect((await list('', { Accept: 'text/html' })).status).toBe(406);
  });
});
