import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { JsonObject } from '#pkg/apimachinery/index';
import { parseAuditPolicy } from '#pkg/audit/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { Auditor } from '../audit/auditor.ts';
import { defaultWatchTiming } from '../handlers/options/watch-timing.ts';
import {
  newTestNote,
  newTestPost,
  notesPath,
  posts,
  startReplica,
  startTestApi,
  type TestApi,
} from '../handlers/start-test-api.ts';

const path = '/apis/stream.svc.run/v1alpha1/streams';
const postResource = { group: 'blog.example.com', version: 'v1', resource: 'posts' };
const noteResource = { ...postResource, resource: 'notes' };
const watchTiming = {
  ...defaultWatchTiming,
  heartbeatMs: 50,
  bookmarkMs: 120,
  bufferLimit: 512 * 1024,
  closeGraceMs: 500,
  recheckMs: 50,
};

let api: TestApi;
let metrics: Registry;
let audited: JsonObject[] = [];
let open = 0;
let ends: string[] = [];
/** What nobody may do: `watch posts`. */
let forbidden = new Set<string>();
let isKnown = true;
/** Another for each test: a recheck remembers the user of a credential for a second. */
let credential = 0;
const lines: StreamReader[] = [];

beforeAll(async () => {
  metrics = new Registry();
  api = await startTestApi({
    metrics,
    http: { host: '127.0.0.1', port: 0, maxInFlight: { total: 64, perUser: 8, watchesPerUser: 70 } },
    handlers: {
      watch: watchTiming,
      watchObserver: {
        began: () => void (open += 1),
        ended: (how) => {
          open -= 1;
          ends.push(how);
        },
        sent: () => undefined,
        delivered: () => undefined,
      },
    },
    auditor: new Auditor({
      policy: parseAuditPolicy(
        'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata, omitStages: [RequestReceived] }]',
      ),
      log: { append: () => Promise.resolve() },
      logger: pino({ level: 'silent' }),
      output: (event) => void audited.push(JSON.parse(event) as JsonObject),
    }),
    authenticator: {
      authenticateRequest: () =>
        Promise.resolve(isKnown ? { name: 'ada', uid: '', groups: ['system:authenticated'] } : undefined),
    },
    authorizer: {
      authorize: ({ verb, resource, user }) =>
        Promise.resolve({
          allowed: user.name === 'ada' && !forbidden.has(`${verb} ${resource}`),
          reason: 'no role',
        }),
    },
  });
});
afterAll(() => api?.stop());
beforeEach(() => {
  [audited, ends, forbidden, isKnown] = [[], [], new Set(), true];
  credential += 1;
});
afterEach(async () => {
  for (const reader of lines.splice(0)) reader.close();
  await pollUntil(() => open === 0);
});

interface Line {
  id: string;
  type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of any shape
  object: any;
}

class StreamReader {
  text = '';
  isEnded = false;
  readonly headers: Headers;
  readonly #body: ReadableStreamDefaultReader<Uint8Array>;
  readonly #abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.headers = response.headers;
    this.#body = response.body!.getReader();
    this.#abort = abort;
    lines.push(this);
  }

  static async open(body: object, { url = api.url, accept = 'application/json' } = {}): Promise<StreamReader> {
    const abort = new AbortController();
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: accept, Authorization: `Bearer ${credential}` },
      body: JSON.stringify(body),
      signal: abort.signal,
    });
    expect(response.status).toBe(200);
    return new StreamReader(response, abort);
  }

  get lines(): Line[] {
    const whole = this.text.split('\n').slice(0, -1);
    return whole.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
  }

  /** `a ADDED name`, without bookmarks. */
  get told(): string[] {
    return this.lines
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(({ id, type, object }) => `${id} ${type} ${object.metadata.name ?? object.code}`);
  }

  async until(isDone: (reader: this) => boolean): Promise<this> {
    const decoder = new TextDecoder();
    while (!this.isEnded && !isDone(this)) {
      const { value, done } = await this.#body.read();
      if (done) this.isEnded = true;
      else this.text += decoder.decode(value, { stream: true });
    }
    return this;
  }

  close(): void {
    this.#abort.abort();
  }
}

const createPost = (name: string, labels = {}): ReturnType<TestApi['call']> =>
  api.call('POST', posts, { body: newTestPost(name, {}, { labels }) });
const createNote = (name: string): ReturnType<TestApi['call']> =>
  api.call('POST', notesPath, { body: newTestNote(name) });
const revision = async (): Promise<string> => (await api.call('GET', `${posts}?limit=1`)).body.metadata.resourceVersion;
const hasBookmarks =
  (...ids: string[]) =>
  ({ lines: all }: StreamReader): boolean =>
    ids.every((id) => all.some((line) => line.id === id && line.type === 'BOOKMARK'));

describe('a stream', () => {
  test('has the events of all its subscriptions, and one revision resumes them, on another replica too', async () => {
    const since = await revision();
    const subscriptions = [
      { id: 'red', ...postResource, labelSelector: 'color=red' },
      { id: 'notes', ...noteResource, namespace: 'default' },
      { id: 'one', ...postResource, fieldSelector: 'metadata.name=s-blue' },
    ];
    const first = await StreamReader.open({ since, subscriptions });
    expect(first.headers.get('content-type')).toBe('application/json');
    await first.until(hasBookmarks('red', 'notes', 'one'));
    await createPost('s-red', { color: 'red' });
    await createNote('s-note');
    await createPost('s-blue');
    await api.call('DELETE', `${posts}/s-red`);
    const expected = ['notes ADDED s-note', 'one ADDED s-blue', 'red ADDED s-red', 'red DELETED s-red'];
    await first.until(({ told }) => told.length === 4);
    expect(first.told.toSorted()).toEqual(expected);
    const revisions = first.lines
      .filter(({ type }) => type !== 'BOOKMARK')
      .map(({ object }) => Number(object.metadata.resourceVersion));
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    const replica = await startReplica(api.store);
    const second = await StreamReader.open({ since, subscriptions }, { url: replica.url });
    await second.until(({ told }) => told.length === 4);
    expect(second.told.toSorted()).toEqual(expected);
    second.close();
    await replica.stop();
  });

  test('begins with the objects that exist, and marks their end', async () => {
    await createPost('i-1', { initial: 'yes' });
    await createPost('i-2', { initial: 'yes' });
    const all = { ...postResource, labelSelector: 'initial' };
    const since = await revision();
    const reader = await StreamReader.open({
      subscriptions: [
        { id: 'all', ...all },
        { id: 'now', ...all, initialEvents: false },
      ],
    });
    await reader.until(hasBookmarks('all', 'now'));
    expect(reader.told).toEqual(['all ADDED i-1', 'all ADDED i-2']);
    const end = reader.lines.find(({ id, type }) => id === 'all' && type === 'BOOKMARK');
    expect(end?.object).toMatchObject({
      kind: 'Post',
      apiVersion: 'blog.example.com/v1',
      metadata: { resourceVersion: since, annotations: { 'k8s.io/initial-events-end': 'true' } },
    });
    const both = await StreamReader.open({ since, subscriptions: [{ id: 'b', ...all, initialEvents: true }] });
    await both.until(hasBookmarks('b'));
    expect(both.told).toEqual(['b ADDED i-1', 'b ADDED i-2']);
  });

  test('can leave out managed fields, and all but metadata', async () => {
    await createPost('form', { form: 'yes' });
    const subscriptions = [{ id: 'a', ...postResource, labelSelector: 'form' }];
    const accepts = [
      'application/json;drop=metadata.managedFields',
      'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    ];
    const [dropped, metadata] = await Promise.all(
      accepts.map(async (accept) => (await StreamReader.open({ subscriptions }, { accept })).until(hasBookmarks('a'))),
    );
    expect(dropped!.lines[0]?.object.metadata.managedFields).toBeUndefined();
    expect(metadata!.lines[0]?.object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'form' } });
    expect(metadata!.lines[0]?.object.spec).toBeUndefined();
  });

  test('sends bookmarks of each subscription, and an error of one leaves the others', async () => {
    forbidden.add('watch notes');
    const since = await revision();
    const reader = await StreamReader.open({
      since,
      subscriptions: [
        { id: 'forbidden', ...noteResource },
        { id: 'unknown', ...postResource, resource: 'nothing' },
        { id: 'scope', ...postResource, namespace: 'default' },
        { id: 'place', version: 'v1', namespace: 'default', resource: 'status' },
        { id: 'path', ...postResource, resource: 'a/b' },
        { id: 'namespace', ...noteResource, namespace: 'missing' },
        { id: 'selector', ...postResource, fieldSelector: 'spec.nope=1' },
        { id: 'good', ...postResource, labelSelector: 'good' },
      ],
    });
    await reader.until((all) => hasBookmarks('good')(all) && all.told.length === 7);
    expect(reader.told.toSorted()).toEqual([
      'forbidden ERROR 403',
      'namespace ERROR 403',
      'path ERROR 400',
      'place ERROR 404',
      'scope ERROR 404',
      'selector ERROR 400',
      'unknown ERROR 404',
    ]);
    expect(reader.lines.find(({ id }) => id === 'forbidden')?.object).toMatchObject({
      kind: 'Status',
      reason: 'Forbidden',
      message: expect.stringContaining('cannot watch resource "notes"'),
    });
    const { length } = reader.lines;
    await createPost('good', { good: 'yes' });
    const now = await revision();
    await reader.until(
      ({ lines: all }) => all.at(-1)?.object.metadata.resourceVersion === now && all.length > length + 1,
    );
    expect(reader.lines.slice(length).every(({ id }) => id === 'good')).toBe(true);
  });

  test('tells a subscription whose history is gone, and the others go on', async () => {
    const from = await revision();
    await createPost('h1');
    await createPost('h2');
    await api.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 3_600_000 });
    const replica = await startReplica(api.store);
    const reader = await StreamReader.open(
      {
        since: from,
        subscriptions: [
          { id: 'gone', ...postResource },
          { id: 'new', ...postResource, initialEvents: true, fieldSelector: 'metadata.name=h2' },
        ],
      },
      { url: replica.url },
    );
    await reader.until((all) => hasBookmarks('new')(all) && all.told.length === 2);
    expect(reader.told.toSorted()).toEqual(['gone ERROR 410', 'new ADDED h2']);
    reader.close();
    await replica.stop();
  });

  test('ends when all its subscriptions have ended', async () => {
    const reader = await StreamReader.open({ subscriptions: [{ id: 'a', ...postResource, resource: 'nothing' }] });
    expect((await reader.until(() => false)).told).toEqual(['a ERROR 404']);
  });

  test('ends a subscription whose right is lost, and all when the credential is', async () => {
    const since = await revision();
    const subscriptions = [
      { id: 'posts', ...postResource },
      { id: 'notes', ...noteResource },
    ];
    const reader = await StreamReader.open({ since, subscriptions });
    await reader.until(hasBookmarks('posts', 'notes'));
    forbidden.add('watch notes');
    await reader.until(({ told }) => told.length === 1);
    expect(reader.told).toEqual(['notes ERROR 403']);
    await createPost('still');
    await reader.until(({ told }) => told.length === 2);
    isKnown = false;
    await reader.until(() => false);
    expect(reader.told).toEqual(['notes ERROR 403', 'posts ADDED still', 'posts ERROR 401']);
  });

  test('tells that a definition has changed, after a last bookmark', async () => {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } };
    const created = await api.call('POST', definitions, {
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'things.stream.example.com' },
        spec: {
          group: 'stream.example.com',
          scope: 'Cluster',
          names: { plural: 'things', singular: 'thing', kind: 'Thing' },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      },
    });
    expect(created.status).toBe(201);
    const reader = await StreamReader.open({
      since: await revision(),
      subscriptions: [
        { id: 'things', group: 'stream.example.com', version: 'v1', resource: 'things' },
        { id: 'posts', ...postResource, labelSelector: 'none' },
      ],
    });
    await reader.until(hasBookmarks('things', 'posts'));
    await api.call('DELETE', `${definitions}/things.stream.example.com`);
    await reader.until(({ told }) => told.length === 1);
    expect(reader.told[0]).toMatch(/^things ERROR 503$/);
    expect(reader.lines.findLast(({ type }) => type === 'ERROR')?.object.message).toContain(
      'watch again from the last revision',
    );
    const { length } = reader.lines;
    await reader.until(({ lines: all }) => all.length > length);
    expect(reader.lines.at(-1)).toMatchObject({ id: 'posts', type: 'BOOKMARK' });
  });

  test('counts, audits and measures each subscription as a watch', async () => {
    forbidden.add('watch notes');
    const since = await revision();
    audited = [];
    const reader = await StreamReader.open({
      since,
      subscriptions: [
        { id: 'a', ...postResource, labelSelector: 'a' },
        { id: 'b', ...postResource },
        { id: 'c', ...noteResource },
      ],
    });
    await reader.until((all) => hasBookmarks('a', 'b')(all) && all.told.length === 1);
    expect(open).toBe(2);
    const target = `${posts}?watch=true&allowWatchBookmarks=true`;
    expect(new Set(audited.map(({ requestURI }) => requestURI))).toEqual(
      new Set([`${target}&labelSelector=a&resourceVersion=${since}`, `${target}&resourceVersion=${since}`]),
    );
    expect(audited.map(({ verb, stage }) => [verb, stage])).toEqual([
      ['watch', 'ResponseStarted'],
      ['watch', 'ResponseStarted'],
    ]);
    expect(new Set(audited.map(({ auditID }) => auditID))).toEqual(new Set([reader.headers.get('audit-id')]));
    reader.close();
    await pollUntil(() => open === 0);
    await pollUntil(async () =>
      /http_server_request_duration_seconds_count\{http_request_method="POST",http_response_status_code="200",http_route="\/apis\/\{group\}\/\{version\}\/\{resource\}",url_scheme="http",verb="watch"\} [1-9]/.test(
        await metrics.metrics(),
      ),
    );
    // The stream itself is no event of its own.
    expect(audited.map(({ verb }) => verb)).toEqual(['watch', 'watch']);
  });

  test('has as many subscriptions as its user may have watches, more than requests at a time', async () => {
    const many = (count: number): object => ({
      since,
      subscriptions: Array.from({ length: count }, (_, i) => ({
        id: `s-${i}`,
        ...postResource,
        labelSelector: `l${i}`,
      })),
    });
    const since = await revision();
    const full = await StreamReader.open(many(64));
    await full.until(hasBookmarks(...Array.from({ length: 64 }, (_, i) => `s-${i}`)));
    expect(full.told).toEqual([]);
    const over = await StreamReader.open(many(10));
    await over.until(({ told }) => told.length === 4);
    expect(over.told).toEqual(['s-6 ERROR 429', 's-7 ERROR 429', 's-8 ERROR 429', 's-9 ERROR 429']);
    full.close();
    over.close();
    await pollUntil(() => open === 0);
    const again = await StreamReader.open(many(64));
    await again.until(hasBookmarks('s-63'));
    expect(again.told).toEqual([]);
  });

  test('disconnects a client that does not read', async () => {
    const since = await revision();
    const body = JSON.stringify({
      since,
      subscriptions: [
        { id: 'a', ...postResource },
        { id: 'b', ...postResource },
      ],
    });
    const slow = connect(Number(new URL(api.url).port), '127.0.0.1').pause();
    slow.write(
      `POST ${path} HTTP/1.1\r\nHost: slow\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await pollUntil(() => open === 2);
    const tags = Array.from({ length: 2000 }, () => 'y'.repeat(100));
    for (let i = 0; ends.length < 2; i += 1)
      await api.call('POST', posts, { body: newTestPost(`big-${i}`, { tags: [...tags, String(i)] }) });
    expect(ends).toEqual(['slow', 'slow']);
    slow.destroy();
  });

  test('ends cleanly when the server stops, after a last bookmark of each', async () => {
    const replica = await startReplica(api.store);
    const since = await revision();
    const reader = await StreamReader.open(
      {
        since,
        subscriptions: [
          { id: 'a', ...postResource },
          { id: 'b', ...noteResource },
        ],
      },
      { url: replica.url },
    );
    await reader.until(hasBookmarks('a', 'b'));
    await createPost('last');
    await reader.until(({ told }) => told.length === 1);
    const newest = reader.lines.at(-1)?.object.metadata.resourceVersion;
    const stopped = replica.stop();
    await reader.until(() => false);
    await stopped;
    expect(reader.lines.slice(-2).map(({ id, type, object }) => [id, type, object.metadata.resourceVersion])).toEqual([
      ['a', 'BOOKMARK', newest],
      ['b', 'BOOKMARK', newest],
    ]);
  });
});

describe('a stream is refused', () => {
  const good = { id: 'a', ...postResource };
  test.each<[string, unknown, number, string]>([
    ['without a body', '', 400, 'the body of the request is empty'],
    ['that is no object', [], 400, 'must be an object'],
    ['without subscriptions', {}, 422, 'subscriptions'],
    ['with none', { subscriptions: [] }, 422, 'subscriptions'],
    [
      'with 65',
      { subscriptions: Array.from({ length: 65 }, (_, i) => ({ ...good, id: `a${i}` })) },
      422,
      'subscriptions',
    ],
    ['with an id twice', { subscriptions: [good, good] }, 422, 'subscriptions[1]'],
    ['with an id of other characters', { subscriptions: [{ ...good, id: 'a"b' }] }, 422, 'subscriptions[0].id'],
    ['without a resource', { subscriptions: [{ id: 'a', version: 'v1' }] }, 422, 'subscriptions[0].resource'],
    [
      'with a field that is none',
      { subscriptions: [{ ...good, labelSelecter: 'a' }] },
      400,
      'unknown field "subscriptions[0].labelSelecter"',
    ],
    ['since what is no revision', { since: 'x', subscriptions: [good] }, 422, 'since'],
    ['of another kind', { kind: 'Post', subscriptions: [good] }, 400, 'does not match the expected kind (Stream)'],
    ['above 64 KiB', { subscriptions: [{ ...good, labelSelector: 'a'.repeat(65_536) }] }, 413, '65536'],
  ])('%s', async (_reason, body, status, message) => {
    const answer = await api.call('POST', path, { body });
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
    expect(open).toBe(0);
  });

  test.each<[string, string, string, Record<string, string>, number]>([
    ['as YAML', 'POST', path, { 'Content-Type': 'application/yaml' }, 415],
    ['for YAML', 'POST', path, { Accept: 'application/yaml' }, 406],
    ['for tables', 'POST', path, { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }, 406],
    ['by GET', 'GET', path, {}, 405],
    ['by name', 'GET', `${path}/a`, {}, 405],
    ['in a namespace', 'POST', path.replace('/streams', '/namespaces/default/streams'), {}, 404],
    ['with a subresource', 'POST', `${path}/a/status`, {}, 404],
  ])('%s', async (_reason, method, target, headers, status) => {
    const body = method === 'POST' ? { body: { subscriptions: [good] } } : {};
    expect((await api.call(method, target, { ...body, headers })).status).toBe(status);
  });

  test('to whom may not open one', async () => {
    forbidden.add('create streams');
    const answer = await api.call('POST', path, { body: { subscriptions: [good] } });
    expect([answer.status, answer.body.message]).toEqual([
      403,
      expect.stringContaining('cannot create resource "streams"'),
    ]);
  });
});

test('discovery shows the group of streams', async () => {
  expect((await api.call('GET', '/apis/stream.svc.run/v1alpha1')).body.resources).toEqual([
    expect.objectContaining({ name: 'streams', kind: 'Stream', namespaced: false, verbs: ['create'] }),
  ]);
});
