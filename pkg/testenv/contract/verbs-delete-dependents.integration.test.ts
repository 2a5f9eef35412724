import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, type ContractClient, type WireBody } from './client.ts';
import { article, articles, namespaces, note, notes, notesIn, registerModels } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let client: ContractClient;
let made = 0;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

const ownedBy = (...owners: WireBody[]) => ({
  ownerReferences: owners.map(({ apiVersion, kind, metadata: { name, uid } }) => ({
    apiVersion,
    kind,
    name,
    uid,
    blockOwnerDeletion: true,
  })),
});

/** Creates an article with further metadata, and returns it with its path. */
async function stored(metadata: Record<string, unknown> = {}): Promise<{ path: string; body: WireBody }> {
  made += 1;
  const { body } = await client.post(articles, article(`owner-${made}`, {}, metadata));
  return { path: `${articles}/${body.metadata.name}`, body };
}

/** Creates an article with a note that it owns. */
async function owner(metadata: Record<string, unknown> = {}): Promise<{ path: string; body: WireBody }> {
  const found = await stored(metadata);
  expect(
    (await client.post(notesIn('default'), note(`of-${found.body.metadata.name}`, {}, ownedBy(found.body)))).status,
  ).toBe(201);
  return found;
}

describe('an owner with dependents', () => {
  test.each([
    ['Foreground', 'foregroundDeletion'],
    ['Orphan', 'orphan'],
  ])('gets a finalizer: %s', async (propagationPolicy, finalizer) => {
    const { path } = await owner({ finalizers: ['example.com/hold'] });
    const { status, body } = await client.delete(path, { body: { propagationPolicy } });
    expect([status, body.kind, body.metadata.finalizers]).toEqual([200, 'Article', ['example.com/hold', finalizer]]);
    expect(body.metadata.deletionTimestamp).toBeDefined();
    const again = await client.delete(path, { body: { propagationPolicy } });
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    await client.patch(path, { metadata: { finalizers: [finalizer] } });
    expect((await client.get(path)).status).toBe(200);
    await client.patch(path, { metadata: { finalizers: null } });
    expect((await client.get(path)).status).toBe(404);
  });

  test.each([
    ['in the query', '?propagationPolicy=Foreground', undefined],
    ['as a collection', '', { propagationPolicy: 'Foreground' }],
  ])('gets a finalizer if the request is %s', async (_, query, body) => {
    const found = await owner();
    const { name } = found.body.metadata;
    await client.delete(
      body === undefined ? `${found.path}${query}` : `${articles}?fieldSelector=name%3D${name}`,
      body === undefined ? {} : { body },
    );
    expect((await client.get(found.path)).body.metadata.finalizers).toEqual(['foregroundDeletion']);
  });

  test.each([{}, { body: { propagationPolicy: 'Background' } }])(
    'is deleted at once in the background: %j',
    async (sending) => {
      const { path } = await owner();
      expect((await client.delete(path, sending)).body.status).toBe('Success');
      expect((await client.get(path)).status).toBe(404);
    },
  );

  test('changes its policy with a second deletion', async () => {
    const { path } = await owner();
    await client.delete(path, { body: { propagationPolicy: 'Foreground' } });
    const second = await client.delete(path, { body: { propagationPolicy: 'Orphan' } });
    expect(second.body.metadata.finalizers).toEqual(['orphan']);
    expect((await client.delete(path)).body.metadata.finalizers).toEqual(['orphan']);
    expect((await client.delete(path, { body: { propagationPolicy: 'Background' } })).body.status).toBe('Success');
    expect((await client.get(path)).status).toBe(404);
  });

  test('gets no finalizer from a dry run', async () => {
    const { path, body } = await owner();
    expect(
      (await client.delete(`${path}?dryRun=All`, { body: { propagationPolicy: 'Foreground' } })).body.metadata
        .finalizers,
    ).toEqual(['foregroundDeletion']);
    expect((await client.get(path)).body).toEqual(body);
  });

  test('may have the finalizer already, and a policy overrides it', async () => {
    const asked = await stored({ finalizers: ['foregroundDeletion'] });
    expect((await client.delete(asked.path)).body.metadata.finalizers).toEqual(['foregroundDeletion']);
    const overruled = await stored({ finalizers: ['orphan'] });
    expect((await client.delete(overruled.path, { body: { propagationPolicy: 'Background' } })).body.status).toBe(
      'Success',
    );
  });
});

test('has no dependents in another namespace or without one', async () => {
  await client.post(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apart' } });
  const { body } = await client.post(notesIn('default'), note('namespaced-owner'));
  await client.post(notesIn('apart'), note('elsewhere', {}, ownedBy(body)));
  await stored(ownedBy(body));
  expect(
    (await client.delete(`${notesIn('default')}/namespaced-owner`, { body: { propagationPolicy: 'Foreground' } })).body
      .status,
  ).toBe('Success');
});

describe('the index on owners', () => {
  const path = (selector: string) => `${notes}?fieldSelector=${encodeURIComponent(selector)}`;

  test('is used by lists', async () => {
    const [one, two] = [await owner(), await owner()];
    const [first, second] = [`of-${one.body.metadata.name}`, `of-${two.body.metadata.name}`];
    const field = 'metadata.ownerReferences.uid';
    const [a, b] = [one.body.metadata.uid, two.body.metadata.uid];
    await client.post(notesIn('default'), note('free'));
    expect(names(await client.get(path(`${field}=${a}`)))).toEqual([first]);
    expect(names(await client.get(path(`${field} in (${a},${b})`)))).toEqual([first, second].toSorted());
    expect(names(await client.get(path(`${field}=${a},${field}=${b}`)))).toEqual([]);
    expect(names(await client.get(path(field)))).toEqual(expect.arrayContaining([first, second]));
    expect(names(await client.get(path(`!${field}`)))).toContain('free');
    expect(names(await client.get(path(`${field}!=${a}`)))).toEqual(expect.arrayContaining([second, 'free']));
    expect((await client.get(`${notes}?sort=${field}`)).status).toBe(400);
  });

  test('shows in a watch which objects get and lose an owner', async () => {
    const { body } = await stored();
    const { body: fresh } = await client.post(notesIn('default'), note('adopted'));
    const reference = { metadata: ownedBy(body) };
    await client.patch(`${notesIn('default')}/adopted`, reference);
    await client.patch(`${notesIn('default')}/adopted`, { metadata: { labels: { a: 'b' } } });
    await client.patch(`${notesIn('default')}/adopted`, { metadata: { ownerReferences: null } });
    await client.post(notesIn('default'), note('last', {}, ownedBy(body)));
    const events = await watchedUntil(env, notes, {
      resourceVersion: fresh.metadata.resourceVersion,
      fieldSelector: `metadata.ownerReferences.uid=${body.metadata.uid}`,
      last: 'last',
    });
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      'ADDED adopted',
      'MODIFIED adopted',
      'DELETED adopted',
    ]);
  });
});

test('refuses a uid that is too long with 422', async () => {
  const reference = { apiVersion: 'v1', kind: 'K', name: 'n', uid: 'x'.repeat(1025) };
  const { status, body } = await client.post(articles, article('long-uid', {}, { ownerReferences: [reference] }));
  expect([status, body.details.causes?.map(({ field }) => field)]).toEqual([422, ['metadata.ownerReferences[0].uid']]);
});
