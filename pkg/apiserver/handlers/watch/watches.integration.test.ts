import { once } from 'node:events';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defaultWatchTiming } from '../options/watch-timing.ts';
import { newTestPost, posts, startReplica, startTestApi, type TestApi } from '../start-test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({
    handlers: {
      watch: { ...defaultWatchTiming, heartbeatMs: 50, bookmarkMs: 120, bufferLimit: 512 * 1024, closeGraceMs: 500 },
    },
  });
});

afterAll(() => api?.stop());

interface Told {
  type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of any shape
  object: any;
}

/** Reads a stream piece by piece; `until` resolves once the text so far satisfies it, or the stream has ended. */
class Reader {
  text = '';
  ended = false;
  readonly headers: Headers;
  readonly status: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #abort: AbortController;
  readonly #decoder = new TextDecoder();

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.headers = response.headers;
    this.#reader = response.body!.getReader();
    this.#abort = abort;
  }

  static async open(query: string, headers: Record<string, string> = {}, url = api.url): Promise<Reader> {
    const abort = new AbortController();
    return new Reader(await fetch(`${url}${posts}?watch=true${query}`, { headers, signal: abort.signal }), abort);
  }

  get lines(): Told[] {
    return this.text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line.replace(/^data: /, '')) as Told);
  }

  get told(): string[] {
    return this.lines
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(({ type, object }) => `${type} ${object.metadata.name ?? object.reason}`);
  }

  async until(done: (reader: Reader) => boolean): Promise<this> {
    while (!this.ended && !done(this)) {
      const { value, done: end } = await this.#reader.read();
      if (end) this.ended = true;
      else this.text += this.#decoder.decode(value, { stream: true });
    }
    return this;
  }

  close(): void {
    this.#abort.abort();
  }
}

const merge = { 'Content-Type': 'application/merge-patch+json' };
const create = (name: string, labels = {}, spec = {}) =>
  api.call('POST', posts, { body: newTestPost(name, spec, { labels }) });
const revision = async (): Promise<string> => (await api.call('GET', `${posts}?limit=1`)).body.metadata.resourceVersion;

describe('watch', () => {
  test('sends every change after a revision, also with selectors', async () => {
    const from = await revision();
    const all = await Reader.open(`&resourceVersion=${from}`);
    const red = await Reader.open(`&resourceVersion=${from}&labelSelector=color%3Dred`);
    await create('w1', { color: 'red' });
    await api.call('PATCH', `${posts}/w1`, { body: { metadata: { labels: { color: 'blue' } } }, headers: merge });
    await api.call('DELETE', `${posts}/w1`);
    await all.until(({ told }) => told.length === 3);
    await red.until(({ told }) => told.length === 2);
    expect(all.told).toEqual(['ADDED w1', 'MODIFIED w1', 'DELETED w1']);
    expect(red.told).toEqual(['ADDED w1', 'DELETED w1']);
    const revisions = all.lines.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    expect(red.lines[1]?.object.metadata).toMatchObject({
      labels: { color: 'red' },
      resourceVersion: String(revisions[1]),
    });
    const again = await Reader.open(`&resourceVersion=${from}`);
    await again.until(({ told }) => told.length === 3);
    expect(again.told).toEqual(all.told);
    for (const reader of [all, red, again]) reader.close();
  });

  test.each(['', '&resourceVersion=0'])('without a revision starts with all existing objects: %p', async (query) => {
    await create('w2');
    const reader = await Reader.open(`${query}&fieldSelector=metadata.name%3Dw2`);
    await reader.until(({ told }) => told.length === 1);
    await api.call('PATCH', `${posts}/w2`, { body: { spec: { title: `t${query}` } }, headers: merge });
    await reader.until(({ told }) => told.length === 2);
    expect(reader.told).toEqual(['ADDED w2', 'MODIFIED w2']);
    expect(reader.headers.get('content-type')).toBe('application/json');
    reader.close();
  });

  test('marks the end of a streaming list', async () => {
    await create('w3', { streaming: 'yes' });
    const reader = await Reader.open(
      '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=streaming',
    );
    await reader.until(({ lines }) => lines.length === 2);
    expect(reader.lines[1]).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'Post',
        apiVersion: 'blog.example.com/v1',
        metadata: { resourceVersion: expect.any(String), annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    });
    reader.close();
  });

  test('keeps a silent stream alive, and sends bookmarks to clients that allow them', async () => {
    const from = await revision();
    const silent = await Reader.open(`&resourceVersion=${from}`);
    await silent.until(({ text }) => text.length >= 2);
    expect(silent.text).toMatch(/^\n+$/);
    silent.close();
    const marked = await Reader.open(`&resourceVersion=${from}&allowWatchBookmarks=true&labelSelector=none`);
    await create('w4');
    const now = await revision();
    await marked.until(({ lines }) => lines.at(-1)?.object.metadata.resourceVersion === now);
    expect(marked.lines.every(({ type }) => type === 'BOOKMARK')).toBe(true);
    marked.close();
  });

  test('ends at its time-out, after a last bookmark', async () => {
    const from = await revision();
    const reader = await Reader.open(
      `&resourceVersion=${from}&timeoutSeconds=3&allowWatchBookmarks=true&labelSelector=none`,
    );
    await reader.until(() => false);
    expect(reader.ended).toBe(true);
    expect(reader.lines.at(-1)?.type).toBe('BOOKMARK');
  });

  test('reports a revision from the future', async () => {
    const answer = await api.call('GET', `${posts}?watch=true&resourceVersion=999999999`);
    expect(answer).toMatchObject({ status: 504, body: { reason: 'Timeout' } });
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  test.each([
    ['&sendInitialEvents=true', {}, 422],
    ['&resourceVersion=abc', {}, 400],
    ['&fieldSelector=spec.nope%3D1', {}, 400],
    ['', { Accept: 'application/yaml' }, 406],
    ['', { Accept: 'text/event-stream', 'Last-Event-ID': 'abc' }, 400],
  ])('%p with %p is a %i', async (query, headers, status) => {
    expect((await api.call('GET', `${posts}?watch=true${query}`, { headers })).status).toBe(status);
  });

  test('a client that does not read is disconnected, and no other is', async () => {
    const from = await revision();
    const healthy = await Reader.open(`&resourceVersion=${from}&labelSelector=big`);
    // A socket that was never read has small buffers; fetch would read ahead, and the system would enlarge them.
    const slow = connect(Number(new URL(api.url).port), '127.0.0.1').pause();
    slow.write(`GET ${posts}?watch=true&resourceVersion=${from}&labelSelector=big HTTP/1.1\r\nHost: slow\r\n\r\n`);
    const tags = Array.from({ length: 2000 }, () => 'y'.repeat(100));
    const count = 60;
    const heard = healthy
      .until(({ text: { length } }) => length > count * JSON.stringify(tags).length)
      .then((reader) => reader.until(({ told }) => told.length === count));
    for (let i = 0; i < count; i += 1) {
      const { status } = await create(`big-${i}`, { big: 'yes' }, { tags: [...tags, String(i)] });
      expect(status).toBe(201);
    }
    expect((await heard).told).toHaveLength(count);
    healthy.close();
    // Read only now: the stream was cut off, by its end or by a broken connection.
    const closed = once(slow, 'close');
    const read = await readText(slow).catch(() => '');
    await closed;
    expect(read.length).toBeLessThan(healthy.text.length);
  });
});

const sse = { Accept: 'text/event-stream' };

function ids({ text }: Reader): string[] {
  return [...text.matchAll(/^id: (\d+)$/gm)].map((match) => match[1]!);
}

function events({ text }: Reader): string[] {
  const told = [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]!) as Told);
  return told.filter(({ type }) => type !== 'BOOKMARK').map(({ type, object }) => `${type} ${object.metadata.name}`);
}

describe('event stream', () => {
  test('starts in the order of revisions, and resumes from its last id', async () => {
    for (const name of ['e2', 'e1', 'e3']) await create(name, { stream: 'yes' });
    const first = await Reader.open('&labelSelector=stream', sse);
    await first.until((reader) => events(reader).length === 3 && ids(reader).length >= 4);
    expect(first.headers.get('content-type')).toBe('text/event-stream');
    expect(events(first)).toEqual(['ADDED e2', 'ADDED e1', 'ADDED e3']);
    expect(ids(first).map(Number)).toEqual(
      ids(first)
        .map(Number)
        .toSorted((a, b) => a - b),
    );
    expect(first.text).not.toMatch(/^event:/m);
    first.close();
    const resumed = await Reader.open('&labelSelector=stream&resourceVersion=1', {
      ...sse,
      'Last-Event-ID': ids(first)[1]!,
    });
    await api.call('DELETE', `${posts}/e2`);
    await resumed.until((reader) => events(reader).length === 2);
    expect(events(resumed)).toEqual(['ADDED e3', 'DELETED e2']);
    resumed.close();
  });

  test('is kept alive by comments, and always has bookmarks', async () => {
    const reader = await Reader.open(`&resourceVersion=${await revision()}&labelSelector=none`, sse);
    await reader.until(({ text }) => text.includes(':\n\n') && text.includes('"BOOKMARK"'));
    expect(reader.ended).toBe(false);
    reader.close();
  });
});

describe('history that is no longer kept', () => {
  test('is reported in the stream, which ends; a browser starts again', async () => {
    const from = await revision();
    await create('h1');
    await create('h2');
    await api.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 3_600_000 });
    const replica = await startReplica(api.store);
    const reader = await (await Reader.open(`&resourceVersion=${from}`, {}, replica.url)).until(() => false);
    expect(reader.status).toBe(200);
    expect(reader.lines).toEqual([
      {
        type: 'ERROR',
        object: expect.objectContaining({
          kind: 'Status',
          code: 410,
          reason: 'Expired',
          message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/),
        }),
      },
    ]);
    const stream = await (await Reader.open('', { ...sse, 'Last-Event-ID': from }, replica.url)).until(() => false);
    await replica.stop();
    expect(stream.text).toMatch(/^id:\ndata: \{"type":"ERROR",.*\}\n\n$/);
  });
});

describe('drain', () => {
  test('ends watches cleanly, after a last bookmark', async () => {
    const own = await startTestApi();
    const reader = await Reader.open('&allowWatchBookmarks=true', {}, own.url);
    await own.call('POST', posts, { body: newTestPost('last') });
    await reader.until(({ told }) => told.length === 1);
    const stopped = own.stop();
    await reader.until(() => false);
    await stopped;
    expect(reader.lines.at(-1)).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: reader.lines[0]?.object.metadata.resourceVersion } },
    });
  });
});
