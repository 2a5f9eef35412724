import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type JsonObject, type StatusError } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import type { IdempotencyKey } from '#pkg/storage/index';
import { ApiClient, noSelector, objectRevision, writing } from '../registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registrytest/replica-pair.ts';
import type { Representation, RepresentationStream } from '../../rest/served-resource.ts';
import { sampleDefinition, samplePost, postDefinition, sampleVersion } from '../registrytest/sample-objects.ts';

let pair: ReplicaPair;
let posts: ApiClient;

beforeAll(async () => {
  pair = await startReplicas();
  const definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  await definitions.create(postDefinition);
  posts = ApiClient.of(pair.one.registry, 'blog.example.com', 'v1', 'posts');
});

afterAll(() => pair?.close());

async function failure(work: Promise<unknown>): Promise<StatusError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isStatusError(error)) throw new Error(`expected a StatusError, found ${String(error)}`);
  return error;
}

/** Depends on the current value, so that a lost write is visible. */
function increment(client: ApiClient): Promise<unknown> {
  return client.patch(
    'race',
    (object) => (object.spec = { title: 'Title', priority: (object.spec as { priority: number }).priority + 1 }),
  );
}

function idempotencyKey(key: string, bodyHash = 'hash'): IdempotencyKey {
  return { user: 'u', method: 'POST', path: '/posts', key, bodyHash };
}

async function itemsOf({ objects }: RepresentationStream): Promise<Representation[]> {
  const items: Representation[] = [];
  for await (const batch of objects) items.push(...batch);
  return items;
}

describe('create', () => {
  test('the server sets system fields, whatever the client sends', async () => {
    const sent = samplePost(
      'system-fields',
      {},
      {
        uid: 'mine',
        resourceVersion: '1',
        generation: 7,
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        managedFields: [{ manager: 'me' }],
      },
    );
    const { metadata, status } = await posts.create({ ...sent, status: { phase: 'Mine' } });
    expect(metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(metadata.generation).toBe(1);
    expect(metadata.creationTimestamp).toMatch(/^20(?!01)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata.managedFields).toEqual([expect.objectContaining({ manager: 'svc', operation: 'Update' })]);
    expect(status).toBeUndefined();
    expect(await posts.get('system-fields')).toMatchObject({ metadata });
  });

  test('unknown fields are pruned and defaults are set; fieldValidation decides about warnings and errors', async () => {
    const body = samplePost('pruned', { bogus: 1 }, { bogus: 2 });
    const strict = await failure(posts.create(body, writing({ fieldValidation: 'Strict' })));
    expect(strict.message).toBe(
      'Post in version "v1" cannot be handled as a Post: strict decoding error: unknown field "metadata.bogus", unknown field "spec.bogus"',
    );
    expect(strict.code).toBe(400);
    const warned = writing({ dryRun: true });
    const silent = writing({ dryRun: true, fieldValidation: 'Ignore' });
    expect((await posts.create(body, warned)).spec).toEqual({ title: 'Title', priority: 5 });
    await posts.create(body, silent);
    expect(warned.warnings).toEqual(['unknown field "metadata.bogus"', 'unknown field "spec.bogus"']);
    expect(silent.warnings).toEqual([]);
  });

  test('a dry run returns a uid and stores nothing', async () => {
    const { metadata } = await posts.create(samplePost('dry'), writing({ dryRun: true }));
    expect(metadata.uid).toBeDefined();
    expect(metadata.resourceVersion).toBeUndefined();
    expect((await failure(posts.get('dry'))).message).toBe('posts.blog.example.com "dry" not found');
  });

  test('generateName adds five characters', async () => {
    const { metadata } = await posts.create(samplePost('', {}, { generateName: 'gen-' }));
    expect(metadata.name).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(metadata.generateName).toBe('gen-');
  });

  test.each([
    [
      'neither name nor generateName',
      samplePost(''),
      422,
      'Post.blog.example.com "" is invalid: metadata.name: Required value: name or generateName is required',
    ],
    [
      'a required field and a length',
      samplePost('bad', { title: 'x'.repeat(21) }),
      422,
      'Post.blog.example.com "bad" is invalid: spec.title: Too long: may not be more than 20 bytes',
    ],
    [
      'another kind',
      { ...samplePost('bad'), kind: 'Page' },
      400,
      'the kind in the data (Page) does not match the expected kind (Post)',
    ],
    [
      'another version',
      { ...samplePost('bad'), apiVersion: 'other/v1' },
      400,
      'the API version in the data (other/v1) does not match the expected API version (blog.example.com/v1)',
    ],
    [
      'metadata of a wrong type',
      { ...samplePost('bad'), metadata: { name: 'bad', labels: 7 } },
      400,
      'cannot be handled as a Post',
    ],
    ['metadata that is not an object', { ...samplePost('bad'), metadata: 'bad' }, 400, 'cannot be handled as a Post'],
    ['a name of another form', samplePost('Bad_Name'), 422, 'metadata.name'],
    ['an index key over 1 kB', samplePost('bad', { slug: 'x'.repeat(1025) }), 422, 'spec.slug'],
    [
      'a credential in an annotation',
      samplePost('bad', {}, { annotations: { note: newPersonalToken() } }),
      422,
      'metadata.annotations',
    ],
  ])('refuses %s', async (_reason, body, code, message) => {
    const error = await failure(posts.create(body));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  test('duplicate names and duplicate unique values are 409, with the name of the index', async () => {
    await posts.create(samplePost('clash', { slug: 'taken' }));
    const name = await failure(posts.create(samplePost('clash')));
    expect([name.code, name.reason, name.message]).toEqual([
      409,
      'AlreadyExists',
      'posts.blog.example.com "clash" already exists',
    ]);
    const unique = await failure(posts.create(samplePost('clash-two', { slug: 'taken' })));
    expect([unique.code, unique.reason]).toEqual([409, 'Conflict']);
    expect(unique.details?.causes?.[0]).toMatchObject({ field: 'spec.slug' });
  });

  test('the given body is not changed', async () => {
    const body = samplePost('untouched', { bogus: 1 });
    const before = JSON.stringify(body);
    await posts.create(body);
    expect(JSON.stringify(body)).toBe(before);
  });
});

describe('update', () => {
  test('the generation changes with content, not with metadata or status; system fields stay', async () => {
    const created = await posts.create(samplePost('gen'));
    const labelled = await posts.patch('gen', (object) => (object.metadata.labels = { a: 'b' }));
    expect(labelled.metadata.generation).toBe(1);
    const changed = await posts.patch('gen', (object) => {
      object.spec = { title: 'Other' };
      object.status = { phase: 'Ignored' };
      object.metadata.creationTimestamp = '2001-01-01T00:00:00.000Z';
    });
    expect(changed.metadata).toMatchObject({
      generation: 2,
      creationTimestamp: created.metadata.creationTimestamp,
      labels: { a: 'b' },
    });
    expect(changed).not.toHaveProperty('status');
    expect(changed.spec).toEqual({ title: 'Other', priority: 5 });
  });

  test('/status changes the status and nothing else', async () => {
    await posts.create(samplePost('status'));
    const wanted = {
      ...samplePost('status', { title: 'Ignored' }, { labels: { ignored: 'yes' } }),
      status: { phase: 'Done' },
    };
    const written = await posts.put(wanted, writing(), { subresource: 'status' });
    expect(written).toMatchObject({ spec: { title: 'Title' }, status: { phase: 'Done' }, metadata: { generation: 1 } });
    expect(written.metadata).not.toHaveProperty('labels');
    const kept = await posts.put(samplePost('status', { title: 'New' }));
    expect(kept).toMatchObject({ spec: { title: 'New' }, status: { phase: 'Done' } });
  });

  test('a write without a change keeps the revision, also if only times in managedFields differ', async () => {
    const created = await posts.create(samplePost('noop'));
    expect(objectRevision(await posts.put(samplePost('noop', {}, { labels: {} })))).toBe(objectRevision(created));
    const entryAt = (time: string): JsonObject => ({
      manager: 'm',
      operation: 'Apply',
      apiVersion: 'blog.example.com/v1',
      time,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:title': {} } },
    });
    const [first, later] = ['2020-01-01T00:00:00Z', '2021-01-01T00:00:00Z'].map(entryAt);
    const managed = await posts.put(samplePost('noop', {}, { managedFields: [first!] }));
    expect(objectRevision(managed)).toBeGreaterThan(objectRevision(created));
    const same = await posts.put(samplePost('noop', {}, { managedFields: [later!] }));
    expect(objectRevision(same)).toBe(objectRevision(managed));
    expect(same.metadata.managedFields).toEqual([first]);
  });

  test('preconditions: a stale revision is 409, a stale If-Match 412, another uid 409', async () => {
    const created = await posts.create(samplePost('pre'));
    await posts.put(samplePost('pre', { title: 'Second' }));
    const { resourceVersion } = created.metadata;
    const stale = await failure(
      posts.put(samplePost('pre', { title: 'Third' }, { resourceVersion: resourceVersion! })),
    );
    expect(stale.message).toBe(
      'Operation cannot be fulfilled on posts.blog.example.com "pre": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect(stale.code).toBe(409);
    expect(
      (await failure(posts.put(samplePost('pre'), writing(), { preconditions: { ifMatch: [resourceVersion!] } }))).code,
    ).toBe(412);
    expect((await failure(posts.put(samplePost('pre', {}, { uid: 'another' })))).code).toBe(409);
    expect((await failure(posts.put(samplePost('absent')))).code).toBe(404);
    expect(
      (await failure(posts.put(samplePost('pre'), writing(), { key: { namespace: '', name: 'other-name' } }))).code,
    ).toBe(404);
    await posts.create(samplePost('other-name'));
    const mismatch = await failure(
      posts.put(samplePost('pre'), writing(), { key: { namespace: '', name: 'other-name' } }),
    );
    expect([mismatch.code, mismatch.message]).toEqual([
      400,
      'the name of the object (pre) does not match the name on the URL (other-name)',
    ]);
  });

  test('unconditional writes of one object, on two replicas at once, are all done', async () => {
    await posts.create(samplePost('race'));
    const others = ApiClient.of(pair.two.registry, 'blog.example.com', 'v1', 'posts');
    await Promise.all(Array.from({ length: 60 }, (_, index) => increment(index % 3 === 0 ? others : posts)));
    expect((await posts.get('race')).spec).toMatchObject({ priority: 65 });
  });

  test('an unchanged invalid value passes; a new one does not', async () => {
    const definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    await definitions.create(sampleDefinition({ group: 'r.example.com', plural: 'things', kind: 'Thing' }));
    const thing = {
      apiVersion: 'r.example.com/v1',
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: { title: 'long title' },
    };
    await ApiClient.of(pair.one.registry, 'r.example.com', 'v1', 'things').create(thing);
    await definitions.patch('things.r.example.com', (object) => {
      const text = JSON.stringify(object.spec).replace('"maxLength":20', '"maxLength":5');
      object.spec = JSON.parse(text) as JsonObject;
    });
    const things = ApiClient.of(pair.one.registry, 'r.example.com', 'v1', 'things');
    expect((await things.patch('a', (object) => ((object.spec as JsonObject)['priority'] = 6))).spec).toEqual({
      title: 'long title',
      priority: 6,
    });
    expect((await failure(things.put({ ...thing, spec: { title: 'another title' } }))).code).toBe(422);
    const seen = { ...thing, status: { phase: 'Seen' } };
    expect((await things.put(seen, writing(), { subresource: 'status' })).status).toEqual({ phase: 'Seen' });
  });

  test('waiting writes end with their request', async () => {
    await posts.create(samplePost('given-up'));
    const abort = new AbortController();
    abort.abort();
    const spec = { title: 'Other' };
    expect(
      (await failure(posts.patch('given-up', (object) => (object.spec = spec), writing({ signal: abort.signal }))))
        .code,
    ).toBe(504);
  });
});

describe('delete', () => {
  test('without finalizers the object is deleted, and the answer has its uid', async () => {
    const { metadata } = await posts.create(samplePost('gone'));
    expect(
      await posts.storage.delete({ key: { namespace: '', name: 'gone' }, preconditions: {} }, writing()),
    ).toMatchObject({ deleted: true, uid: metadata.uid });
    expect((await failure(posts.delete('gone'))).code).toBe(404);
  });

  test('finalizers delay the deletion; a second deletion changes nothing; the removal of the last one deletes the object', async () => {
    await posts.create(samplePost('held', {}, { finalizers: ['example.com/hold'] }));
    const marked = await posts.delete('held');
    expect(marked).toMatchObject({
      deleted: false,
      object: { metadata: { generation: 2, deletionGracePeriodSeconds: 0 } },
    });
    expect(marked.object.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect((await posts.delete('held')).object).toEqual(marked.object);
    const added = await failure(posts.patch('held', (object) => object.metadata.finalizers?.push('example.com/new')));
    expect(added.message).toContain('no new finalizers can be added if the object is being deleted');
    const final = await posts.patch('held', (object) => (object.metadata.finalizers = []));
    expect(final.metadata.deletionTimestamp).toBe(marked.object.metadata.deletionTimestamp);
    expect((await failure(posts.get('held'))).code).toBe(404);
  });

  test('preconditions and dry runs', async () => {
    const { metadata } = await posts.create(samplePost('careful'));
    const key = { namespace: '', name: 'careful' };
    expect(
      (await failure(posts.storage.delete({ key, preconditions: { uid: 'other' } }, writing()))).message,
    ).toContain(
      `the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
    expect(
      (await failure(posts.storage.delete({ key, preconditions: { resourceVersion: '1' } }, writing()))).code,
    ).toBe(409);
    expect((await failure(posts.storage.delete({ key, preconditions: { ifMatch: ['1'] } }, writing()))).code).toBe(412);
    expect(await posts.storage.delete({ key, preconditions: {} }, writing({ dryRun: true }))).toMatchObject({
      deleted: true,
    });
    expect((await posts.get('careful')).metadata.uid).toBe(metadata.uid);
  });

  test('a collection is deleted by selector, and objects with finalizers are marked', async () => {
    for (const name of ['col-a', 'col-b', 'col-c']) {
      await posts.create(
        samplePost(
          name,
          {},
          {
            labels: { col: name === 'col-c' ? 'no' : 'yes' },
            ...(name === 'col-b' ? { finalizers: ['example.com/hold'] } : {}),
          },
        ),
      );
    }
    const labels = [{ key: 'col', operator: 'In' as const, values: ['yes'] }];
    const list = { selector: { labels, fields: [] }, sort: [], signal: new AbortController().signal };
    const deleted = await itemsOf(await posts.storage.deleteCollection(list, writing()));
    expect(deleted.map(({ name }) => name).toSorted()).toEqual(['col-a', 'col-b']);
    expect((await posts.names()).filter((name) => name.startsWith('col'))).toEqual(['col-b', 'col-c']);
  });

  test('of a collection keeps objects that the selectors no longer match when they are reached', async () => {
    const all = Array.from({ length: 510 }, (_, i) => `turn-${String(i).padStart(3, '0')}`);
    await Promise.all(all.map((name) => posts.create(samplePost(name, {}, { labels: { turn: 'yes' } }))));
    const labels = [{ key: 'turn', operator: 'In' as const, values: ['yes'] }];
    const deletion = await posts.storage.deleteCollection(
      { selector: { labels, fields: [] }, sort: [], signal: new AbortController().signal },
      writing(),
    );
    const deleted: string[] = [];
    for await (const batch of deletion.objects) {
      // The first turn of 500 objects is done; the last objects follow.
      if (deleted.length === 0) await posts.put(samplePost('turn-509', {}, { labels: { turn: 'no' } }));
      deleted.push(...batch.map(({ name }) => name));
    }
    expect(deleted.toSorted()).toEqual(all.slice(0, 509));
    expect((await posts.names()).filter((name) => name.startsWith('turn'))).toEqual(['turn-509']);
  });
});

describe('idempotency', () => {
  test('the first outcome is repeated on any replica, whatever the object became', async () => {
    const idempotency = idempotencyKey('first');
    const created = await posts.create(samplePost('once'), writing({ idempotency }));
    await posts.put(samplePost('once', { title: 'Later' }));
    const others = ApiClient.of(pair.two.registry, 'blog.example.com', 'v1', 'posts');
    expect(await others.create(samplePost('once'), writing({ idempotency }))).toEqual(created);
    expect(await others.storage.create('', samplePost('once'), writing({ idempotency }))).toMatchObject({
      revision: Number(created.metadata.resourceVersion),
      isReplayed: true,
    });
    const recalled = await others.storage.findRememberedWrite(idempotency);
    expect(recalled).toMatchObject({ type: 'create', uid: created.metadata.uid });
    expect(await posts.storage.findRememberedWrite(idempotencyKey('unused'))).toBeUndefined();
    expect((await failure(posts.storage.findRememberedWrite(idempotencyKey('first', 'other')))).code).toBe(422);
    expect(
      (await failure(posts.create(samplePost('once-more'), writing({ idempotency: idempotencyKey('first', 'other') }))))
        .code,
    ).toBe(422);
  });

  test('of concurrent requests, those that find the first in progress get a 409 with Retry-After', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () =>
        posts.create(samplePost('many'), writing({ idempotency: idempotencyKey('many') })),
      ),
    );
    const failed = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as StatusError] : [],
    );
    expect(outcomes.length - failed.length).toBeGreaterThan(0);
    for (const error of failed) expect([error.code, error.details?.retryAfterSeconds]).toEqual([409, 1]);
    expect(
      (await posts.create(samplePost('many'), writing({ idempotency: idempotencyKey('many') }))).metadata.name,
    ).toBe('many');
  });

  test('the outcome of another replica is returned while a repetition is still in progress here', async () => {
    await posts.create(samplePost('overtaken'));
    const idempotency = { ...idempotencyKey('overtaken'), method: 'PATCH' };
    let continueWrite = (): void => {};
    const held = new Promise<() => void>((resolve) => (continueWrite = () => resolve(() => undefined)));
    const memory = {
      readBudget: { owner: 'u', admit: async () => undefined, reportHeld: () => undefined },
      parse: () => held,
    };
    const rename = (object: JsonObject): void => void (object['spec'] = { title: 'Renamed' });
    const slow = posts.patch('overtaken', rename, writing({ idempotency, memory }));
    expect((await failure(posts.storage.findRememberedWrite(idempotency))).code).toBe(409);
    const others = ApiClient.of(pair.two.registry, 'blog.example.com', 'v1', 'posts');
    const done = await others.patch('overtaken', rename, writing({ idempotency }));
    expect((await posts.storage.findRememberedWrite(idempotency))?.uid).toBe(done.metadata.uid);
    continueWrite();
    expect(await slow).toEqual(done);
  });

  test('a deletion is remembered too', async () => {
    await posts.create(samplePost('del-once'));
    const idempotency = { ...idempotencyKey('del'), method: 'DELETE' };
    const first = await posts.delete('del-once', writing({ idempotency }));
    expect(await posts.delete('del-once', writing({ idempotency }))).toEqual(first);
  });

  test('a request that failed is not remembered', async () => {
    await failure(posts.create(samplePost('later', { title: 7 }), writing({ idempotency: idempotencyKey('fails') })));
    expect(
      (await posts.create(samplePost('later'), writing({ idempotency: idempotencyKey('fails') }))).metadata.name,
    ).toBe('later');
  });
});

describe('versions and schemas', () => {
  test('each version reads the same object with its own apiVersion and defaults', async () => {
    const definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    const beta = sampleVersion('v1beta1', { storage: false });
    await definitions.create(
      sampleDefinition({
        group: 'v.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1'), beta],
      }),
    );
    const stable = ApiClient.of(pair.one.registry, 'v.example.com', 'v1', 'things');
    const old = ApiClient.of(pair.one.registry, 'v.example.com', 'v1beta1', 'things');
    const thing = { apiVersion: 'v.example.com/v1beta1', kind: 'Thing', metadata: { name: 'a' }, spec: { title: 'A' } };
    expect((await old.create(thing)).apiVersion).toBe('v.example.com/v1beta1');
    expect((await stable.get('a')).apiVersion).toBe('v.example.com/v1');
    const before = await old.get('a');
    expect(await old.put(thing)).toEqual(before);
    expect((await old.put({ ...thing, spec: { title: 'B' } })).metadata.generation).toBe(2);
  });

  test('after a change of the schema old objects are read pruned and with the new defaults, and a no-op writes nothing', async () => {
    const definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
    await definitions.create(sampleDefinition({ group: 's.example.com', plural: 'things', kind: 'Thing' }));
    const make = (): ApiClient => ApiClient.of(pair.one.registry, 's.example.com', 'v1', 'things');
    await make().create({
      apiVersion: 's.example.com/v1',
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: { title: 'A', slug: 's' },
    });
    await definitions.patch('things.s.example.com', (object) => {
      const [only] = (
        object.spec as unknown as {
          versions: {
            indexes: unknown;
            schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } } };
          }[];
        }
      ).versions;
      const { properties } = only!.schema.openAPIV3Schema.properties.spec;
      delete properties['slug'];
      properties['color'] = { type: 'string', default: 'red' };
      only!.indexes = [];
    });
    expect((await make().get('a')).spec).toEqual({ title: 'A', priority: 5, color: 'red' });
  });
});

describe('lists', () => {
  test('pages and chunks have objects in the same form as single reads', async () => {
    const signal = new AbortController().signal;
    const fields = [
      {
        index: {
          name: 'metadata.name',
          path: 'metadata.name',
          type: 'string' as const,
          multi: false,
          unique: false,
          nullable: false,
        },
        operator: 'Prefix' as const,
        value: 'col-',
      },
    ];
    const page = await posts.storage.page({
      selector: { labels: [], fields },
      sort: [],
      page: 1,
      size: 1,
      exactTotal: false,
      signal,
    });
    expect(page).toMatchObject({ total: 2, totalIsLowerBound: false, hasNext: true });
    const [first] = await itemsOf(page);
    expect(JSON.parse(first!.text)).toMatchObject({
      metadata: { name: 'col-b', resourceVersion: String(first!.revision) },
    });
    const chunk = await posts.storage.chunk({ selector: noSelector, sort: [], limit: 2, signal });
    const next = await posts.storage.chunk({ selector: noSelector, sort: [], limit: 2, signal, after: chunk.next! });
    expect(new Set([...(await itemsOf(chunk)), ...(await itemsOf(next))].map(({ name }) => name)).size).toBe(4);
  });
});
