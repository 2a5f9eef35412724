import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { applyPatch, clientOf, names, type ContractClient } from './client.ts';
import { apiVersion, article, articles, group, namespaces, note, notes, notesIn, registerModels } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

describe('a missing namespace', () => {
  test.each([
    ['POST', '', note('a')],
    ['GET', '', undefined],
    ['GET', '/a', undefined],
    ['PUT', '/a', note('a')],
    ['DELETE', '/a', undefined],
    ['DELETE', '', undefined],
  ])('%s %s is 404', async (method, path, body) => {
    const { status, body: answer } = await client.send(
      method,
      `${notesIn('absent')}${path}`,
      body === undefined ? {} : { body },
    );
    expect([status, answer.reason]).toEqual([404, 'NotFound']);
  });

  test('has no objects of a built-in kind: a list is empty, and a watch sees those that come', async () => {
    const configMaps = '/api/v1/namespaces/later/configmaps';
    const empty = await client.get(configMaps);
    expect([empty.status, empty.body.items]).toEqual([200, []]);
    expect((await client.get(`${configMaps}/a`)).status).toBe(404);
    const watched = watchedUntil(env, configMaps, {
      resourceVersion: empty.body.metadata.resourceVersion,
      last: 'b',
    });
    await client.post(namespaces, namespace('later'));
    for (const name of ['a', 'b']) await client.post(configMaps, { metadata: { name } });
    expect((await watched).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual(['ADDED a']);
  });

  test('POST names it', async () => {
    expect((await client.post(notesIn('absent'), note('a'))).body.message).toBe('namespaces "absent" not found');
  });

  test('PATCH is 404, apply too', async () => {
    expect((await client.patch(`${notesIn('absent')}/a`, {})).status).toBe(404);
    expect((await client.patch(`${notesIn('absent')}/a?fieldManager=test`, note('a'), applyPatch)).status).toBe(404);
  });
});

describe('objects of a namespace', () => {
  test('are separate from those of another namespace with the same name', async () => {
    expect((await client.post(namespaces, namespace('one'))).status).toBe(201);
    expect((await client.post(namespaces, namespace('two'))).status).toBe(201);
    const [one, two] = [
      await client.post(notesIn('one'), note('same', { text: '1' })),
      await client.post(notesIn('two'), note('same', { text: '2' })),
    ];
    expect([one.status, two.status]).toEqual([201, 201]);
    expect(one.headers.get('location')).toMatch(new RegExp(`${notesIn('one')}/same$`));
    expect(one.body.metadata.namespace).toBe('one');
    expect((await client.get(`${notesIn('two')}/same`)).body.spec).toEqual({ text: '2' });
    await client.delete(`${notesIn('one')}/same`);
    expect((await client.get(`${notesIn('one')}/same`)).status).toBe(404);
    expect((await client.get(`${notesIn('two')}/same`)).status).toBe(200);
  });

  test('are listed by namespace, and all of them at the path without a namespace', async () => {
    await client.post(namespaces, namespace('three'));
    await client.post(notesIn('default'), note('b'));
    await client.post(notesIn('three'), note('a'));
    await client.post(notesIn('three'), note('c'));
    expect(names(await client.get(notesIn('three')))).toEqual(['a', 'c']);
    const all = (await client.get(notes)).body.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(all).toEqual(all.toSorted());
    expect(all).toEqual(expect.arrayContaining(['default/b', 'three/a', 'three/c']));
    expect(names(await client.get(`${notes}?fieldSelector=metadata.namespace%3Dthree`))).toEqual(['a', 'c']);
    expect(names(await client.get(`${notesIn('three')}?sort=name,desc`))).toEqual(['c', 'a']);
  });

  test('cannot be written at the path without a namespace', async () => {
    const refused = await client.post(notes, note('bare', {}, { namespace: 'default' }));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
    expect((await client.get(`${notesIn('default')}/bare`)).status).toBe(404);
    expect((await client.get(`${notes}/b`)).status).toBe(404);
  });

  test('PUT of another namespace is 400', async () => {
    await client.post(notesIn('default'), note('put'));
    expect((await client.put(`${notesIn('default')}/put`, note('put', {}, { namespace: 'one' }))).status).toBe(400);
  });
});

test('a cluster-scoped model is 404 under a namespace', async () => {
  const path = `/apis/${apiVersion}/namespaces/default/articles`;
  for (const answer of [await client.get(path), await client.post(path, article('a')), await client.get(`${path}/a`)])
    expect(answer.status).toBe(404);
});

test('a cluster-scoped object with a namespace in its body is refused or has none', async () => {
  const { status, body } = await client.post(articles, article('scoped', {}, { namespace: 'default' }));
  expect([201, 400, 422]).toContain(status);
  if (status === 201) expect(body.metadata.namespace).toBeUndefined();
});

describe('the namespaces themselves', () => {
  test('are listed with default', async () => {
    const list = await client.get(namespaces);
    expect(list.body).toMatchObject({ apiVersion: 'v1', kind: 'NamespaceList' });
    expect(names(list)).toContain('default');
  });

  test('default cannot be deleted', async () => {
    const { status } = await client.delete(`${namespaces}/default`);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    const { body } = await client.get(`${namespaces}/default`);
    expect(body.metadata.deletionTimestamp).toBeUndefined();
  });

  test('svc-system always exists and cannot be deleted', async () => {
    expect((await client.get(`${namespaces}/svc-system`)).status).toBe(200);
    const { status, body } = await client.delete(`${namespaces}/svc-system`);
    expect([status, body.reason]).toEqual([403, 'Forbidden']);
  });

  test('one without objects is deleted at once', async () => {
    await client.post(namespaces, namespace('empty'));
    const { status, body } = await client.delete(`${namespaces}/empty`);
    expect([status, body.kind]).toEqual([200, 'Status']);
    expect((await client.get(`${namespaces}/empty`)).status).toBe(404);
    expect((await client.post(notesIn('empty'), note('late'))).status).toBe(404);
  });

  test('one with objects is deleted when it is empty, and accepts no new objects', async () => {
    await client.post(namespaces, namespace('full'));
    await client.post(notesIn('full'), note('inside'));
    const { status, body } = await client.delete(`${namespaces}/full`);
    expect([status, body.kind, body.metadata.finalizers, body.status]).toEqual([
      200,
      'Namespace',
      ['kubernetes'],
      { phase: 'Terminating' },
    ]);
    expect(body.metadata.deletionTimestamp).toBeDefined();
    expect((await client.delete(`${namespaces}/full`)).body.metadata.resourceVersion).toBe(
      body.metadata.resourceVersion,
    );
    const refused = await client.post(notesIn('full'), note('late'));
    expect([refused.status, refused.body.reason, refused.body.message]).toEqual([
      403,
      'Forbidden',
      `notes.${group} "late" is forbidden: unable to create new content in namespace full because it is being terminated`,
    ]);
    expect(refused.body.details.causes).toEqual([
      { reason: 'NamespaceTerminating', message: 'namespace full is being terminated', field: 'metadata.namespace' },
    ]);
    expect((await client.put(`${notesIn('full')}/inside`, note('inside', { text: 'still there' }))).status).toBe(200);

    const removeFinalizers = () => client.patch(`${namespaces}/full`, { metadata: { finalizers: null } });
    expect((await removeFinalizers()).status).toBe(409);
    await client.delete(`${notesIn('full')}/inside`);
    expect((await removeFinalizers()).status).toBe(200);
    expect((await client.get(`${namespaces}/full`)).status).toBe(404);
  });

  test('a dry run of the deletion returns the outcome', async () => {
    await client.post(namespaces, namespace('dry'));
    expect((await client.delete(`${namespaces}/dry?dryRun=All`)).body.kind).toBe('Status');
    await client.post(notesIn('dry'), note('inside'));
    const { body } = await client.delete(`${namespaces}/dry?dryRun=All`);
    expect([body.kind, body.metadata.finalizers]).toEqual(['Namespace', ['kubernetes']]);
    expect((await client.get(`${namespaces}/dry`)).body.metadata.deletionTimestamp).toBeUndefined();
  });

  test.each(['Upper', 'a.b', 'n'.repeat(64), ''])('%j is not a valid name of a namespace', async (name) => {
    expect((await client.post(namespaces, namespace(name))).status).toBe(422);
  });
});
