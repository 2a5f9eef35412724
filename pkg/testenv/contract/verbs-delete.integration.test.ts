import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, json, jsonPatch, names, type ContractClient, type WireBody } from './client.ts';
import { article, articles, note, notes, notesIn, registerModels } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let client: ContractClient;
let count = 0;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

async function stored(metadata: Record<string, unknown> = {}): Promise<{ path: string; body: WireBody }> {
  const { body } = await client.post(articles, article(`d-${(count += 1)}`, { title: 'a' }, metadata));
  return { path: `${articles}/${body.metadata.name}`, body };
}

const held = { finalizers: ['example.com/one', 'example.com/two'] };

describe('DELETE', () => {
  test('answers Status Success with the uid', async () => {
    const { path, body } = await stored();
    const deleted = await client.delete(path);
    expect(deleted.status).toBe(200);
    expect(deleted.body).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Success',
      details: { name: body.metadata.name, group: 'contract.example.com', kind: 'articles', uid: body.metadata.uid },
    });
    expect((await client.get(path)).status).toBe(404);
    expect((await client.delete(path)).status).toBe(404);
  });

  test('leaves the name free for another object', async () => {
    const { path, body } = await stored();
    await client.delete(path);
    const again = await client.post(articles, article(body.metadata.name));
    expect([again.status, again.body.metadata.generation]).toEqual([201, 1]);
    expect(again.body.metadata.uid).not.toBe(body.metadata.uid);
  });

  test('is one DELETED event with its own revision', async () => {
    const { path, body } = await stored();
    await client.delete(path);
    const { body: last } = await stored();
    const [event, ...more] = await watchedUntil(env, articles, {
      resourceVersion: body.metadata.resourceVersion,
      last: last.metadata.name,
    });
    expect([event?.type, event?.object.metadata.uid, more]).toEqual(['DELETED', body.metadata.uid, []]);
    expect(BigInt(event!.object.metadata.resourceVersion)).toBeGreaterThan(BigInt(body.metadata.resourceVersion));
  });

  test.each([
    ['an empty body of type JSON', { headers: json }],
    ['Background', { body: { propagationPolicy: 'Background' } }],
    [
      'Foreground without dependants',
      { body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground' } },
    ],
    ['Orphan without dependants', { body: { propagationPolicy: 'Orphan', gracePeriodSeconds: 0 } }],
  ])('with a body of %s completes at once', async (_, sending) => {
    const { path } = await stored();
    expect((await client.delete(path, sending)).body.status).toBe('Success');
    expect((await client.get(path)).status).toBe(404);
  });

  test.each([
    ['cut off', '{"a":'],
    ['a list', '[]'],
    ['preconditions as text', '{"preconditions":"x"}'],
    ['a uid that is a number', '{"preconditions":{"uid":5}}'],
  ])('with a body that is %s is a client error', async (_, body) => {
    const { path } = await stored();
    expect([400, 422]).toContain((await client.delete(path, { body, headers: json })).status);
    expect((await client.get(path)).status).toBe(200);
  });
});

describe('preconditions', () => {
  test('that fail are 409 and change nothing', async () => {
    const { path, body } = await stored();
    const uid = await client.delete(path, { body: { preconditions: { uid: 'other' } } });
    expect([uid.status, uid.body.reason]).toEqual([409, 'Conflict']);
    expect(uid.body.message).toContain(
      `the UID in the precondition (other) does not match the UID in record (${body.metadata.uid}). The object might have been deleted and then recreated`,
    );
    const revision = await client.delete(path, { body: { preconditions: { resourceVersion: '1' } } });
    expect([revision.status, revision.body.reason]).toEqual([409, 'Conflict']);
    expect((await client.get(path)).body).toEqual(body);
  });

  test('that are met allow the deletion', async () => {
    const { path, body } = await stored();
    const { uid, resourceVersion } = body.metadata;
    expect((await client.delete(path, { body: { preconditions: { uid, resourceVersion } } })).status).toBe(200);
    expect((await client.get(path)).status).toBe(404);
  });
});

describe('finalizers', () => {
  test('keep the object, which is then being deleted', async () => {
    const { path, body } = await stored(held);
    const deleted = await client.delete(path);
    expect(deleted.status).toBe(200);
    expect(deleted.body).toMatchObject({
      kind: 'Article',
      metadata: { ...held, generation: 2, deletionGracePeriodSeconds: 0, uid: body.metadata.uid },
    });
    expect(deleted.body.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect((await client.get(path)).body).toEqual(deleted.body);
    const again = await client.delete(path);
    expect([again.status, again.body]).toEqual([200, deleted.body]);
  });

  test.each([
    [
      'PUT',
      (path: string, body: WireBody, finalizers: string[]) =>
        client.put(path, { ...body, metadata: { ...body.metadata, finalizers } }),
    ],
    [
      'merge patch',
      (path: string, _: WireBody, finalizers: string[]) =>
        client.patch(path, { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } }),
    ],
    [
      'JSON patch',
      (path: string, _: WireBody, finalizers: string[]) =>
        client.patch(path, [{ op: 'replace', path: '/metadata/finalizers', value: finalizers }], jsonPatch),
    ],
  ])('the last one removed by %s deletes it in that write', async (_, write) => {
    const { path } = await stored(held);
    const { body } = await client.delete(path);
    const one = await write(path, body, ['example.com/two']);
    expect([one.status, one.body.metadata.finalizers]).toEqual([200, ['example.com/two']]);
    expect((await client.get(path)).status).toBe(200);
    const none = await write(path, one.body, []);
    expect([none.status, none.body.metadata.uid]).toEqual([200, body.metadata.uid]);
    expect((await client.get(path)).status).toBe(404);
    const { body: last } = await stored();
    const events = await watchedUntil(env, articles, {
      resourceVersion: body.metadata.resourceVersion,
      last: last.metadata.name,
    });
    expect(events.map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED']);
  });

  test('that are removed without a deletion do not delete the object', async () => {
    const { path } = await stored(held);
    await client.patch(path, { metadata: { finalizers: null } });
    expect((await client.get(path)).status).toBe(200);
  });

  test('allow changes while the object is being deleted, but not to undo the deletion', async () => {
    const { path } = await stored(held);
    const { body } = await client.delete(path);
    const put = await client.put(path, article(body.metadata.name, { title: 'b' }, held));
    expect([put.status, put.body.metadata.deletionTimestamp]).toEqual([200, body.metadata.deletionTimestamp]);
    await client.patch(path, { metadata: { deletionTimestamp: null } });
    expect((await client.get(path)).body.metadata.deletionTimestamp).toBe(body.metadata.deletionTimestamp);
    expect((await client.post(articles, article(body.metadata.name))).status).toBe(409);
  });

  test('without a domain are accepted, at most with a warning', async () => {
    expect((await client.post(articles, article('unqualified', {}, { finalizers: ['mine'] }))).status).toBe(201);
  });
});

test('of many concurrent requests one deletes, the others are 404', async () => {
  const { path } = await stored();
  const answers = await Promise.all(Array.from({ length: 8 }, () => client.delete(path)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200,
    ...Array.from({ length: 7 }, () => 404),
  ]);
});

test('an object that is being deleted is found by its deletionTimestamp and still has its unique value', async () => {
  await client.post(articles, article('lingers', { slug: 'lingers' }, held));
  const { body } = await client.delete(`${articles}/lingers`);
  const { deletionTimestamp } = body.metadata;
  expect(names(await client.get(`${articles}?fieldSelector=metadata.deletionTimestamp`))).toContain('lingers');
  expect(
    names(await client.get(`${articles}?fieldSelector=metadata.deletionTimestamp%3D${deletionTimestamp}`)),
  ).toContain('lingers');
  expect(names(await client.get(`${articles}?fieldSelector=!metadata.deletionTimestamp`))).not.toContain('lingers');
  expect((await client.post(articles, article('heir', { slug: 'lingers' }))).status).toBe(409);
  await client.patch(`${articles}/lingers`, { metadata: { finalizers: null } });
  expect((await client.post(articles, article('heir', { slug: 'lingers' }))).status).toBe(201);
});

describe('DELETE of a collection', () => {
  const make = async (prefix: string) => {
    for (const [i, shade] of ['dark', 'dark', 'light'].entries()) {
      await client.post(
        articles,
        article(`${prefix}-${i}`, { title: prefix, priority: i }, { labels: { set: prefix, shade } }),
      );
    }
  };
  const left = async (prefix: string) => names(await client.get(`${articles}?labelSelector=set%3D${prefix}`));

  test.each([
    ['labels', 'labelSelector=set%3Dlabels,shade%3Ddark', ['labels-2']],
    ['fields', 'fieldSelector=title%3Dfields,priority%3E%3D1', ['fields-0']],
    ['both', 'labelSelector=set%3Dboth&fieldSelector=priority%3D0', ['both-1', 'both-2']],
    ['nothing', 'labelSelector=set%3Dabsent', ['nothing-0', 'nothing-1', 'nothing-2']],
  ])('by %s', async (prefix, query, expected) => {
    await make(prefix);
    expect((await client.delete(`${articles}?${query}`)).status).toBe(200);
    expect(await left(prefix)).toEqual(expected);
  });

  test.each([
    'labelSelector=%3D%3D',
    'fieldSelector=spec.nope%3D1',
    'fieldSelector=priority%3Dx',
    'labelSelector=a,,b',
  ])('by the malformed %s is 400 and deletes nothing', async (query) => {
    await make('stays');
    expect((await client.delete(`${articles}?${query}`)).status).toBe(400);
    expect(await left('stays')).toHaveLength(3);
  });

  test('with dryRun in its body deletes nothing', async () => {
    await make('dry');
    expect((await client.delete(`${articles}?labelSelector=set%3Ddry`, { body: { dryRun: ['All'] } })).status).toBe(
      200,
    );
    expect(await left('dry')).toHaveLength(3);
  });

  test('keeps those with finalizers, which are then being deleted', async () => {
    await client.post(articles, article('held-0', {}, { ...held, labels: { set: 'held' } }));
    await client.post(articles, article('held-1', {}, { labels: { set: 'held' } }));
    expect((await client.delete(`${articles}?labelSelector=set%3Dheld`)).status).toBe(200);
    const { items } = (await client.get(`${articles}?labelSelector=set%3Dheld`)).body;
    expect(items.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp !== undefined])).toEqual([
      ['held-0', true],
    ]);
  });

  test('of a namespace does not affect other namespaces', async () => {
    await client.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'swept' } });
    await client.post(notesIn('swept'), note('a'));
    await client.post(notesIn('default'), note('a'));
    expect((await client.delete(notesIn('swept'))).status).toBe(200);
    expect((await client.get(notes)).body.items.map(({ metadata }) => metadata.namespace)).toEqual(['default']);
  });
});
