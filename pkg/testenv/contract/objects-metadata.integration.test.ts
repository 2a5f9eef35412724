import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, type WireResponse, type ContractClient } from './client.ts';
import { apiVersion, article, articles, definitions, group, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
let count = 0;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept'));
});
afterAll(() => env.stop());

function create(metadata: Record<string, unknown>): Promise<WireResponse> {
  return client.post(articles, article(`a${(count += 1)}`, {}, metadata));
}

const goodKeys = [
  ['no prefix', 'tier'],
  ['one character', 'x'],
  ['all allowed characters', 'Az0-._9'],
  ['63 characters', 'k'.repeat(63)],
  ['a prefix', 'blog.example.com/tier'],
  ['a prefix of one label', 'blog/tier'],
  ['a prefix that only ends like the reserved one', 'notsvc.run/tier'],
  ['a prefix that only begins like the reserved one', 'svc.run.example.com/tier'],
  ['a key of the platform', 'svc.run/do-not-overwrite'],
  ['another key of the platform', 'svc.run/plugin'],
] as const;

const badKeys = [
  ['empty', ''],
  ['a leading dash', '-a'],
  ['a trailing dot', 'a.'],
  ['64 characters', 'k'.repeat(64)],
  ['a space', 'a b'],
  ['another alphabet', 'größe'],
  ['no name', 'blog.example.com/'],
  ['no prefix before the slash', '/a'],
  ['two slashes', 'a/b/c'],
  ['a prefix in upper case', 'Blog.example.com/a'],
  ['a prefix with an underscore', 'my_blog/a'],
  ['a prefix of 254 characters', `${'p.'.repeat(126)}pp/a`],
  ['the reserved prefix', 'svc.run/mine'],
  ['below the reserved prefix', 'deep.in.svc.run/mine'],
  ['a platform key under another name', 'svc.run/do-not-overwrite-me'],
] as const;

describe.each(['labels', 'annotations'])('keys of %s', (field) => {
  test.each(goodKeys)('%s', async (_, key) => {
    const { status, body } = await create({ [field]: { [key]: 'true' } });
    expect([status, body.metadata[field as 'labels']]).toEqual([201, { [key]: 'true' }]);
  });

  test.each(badKeys)('%s is 422', async (_, key) => {
    const { status, body } = await create({ [field]: { [key]: 'x' } });
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.details.causes?.some((cause) => cause.field.startsWith(`metadata.${field}`))).toBe(true);
  });

  test.each(['a\0b', 'a\ud800'])('%j, which the database cannot hold, is refused', async (key) => {
    expect([400, 422]).toContain((await create({ [field]: { [key]: 'x' } })).status);
  });

  test('prototype keys reach no object', async () => {
    const text = `{"apiVersion":"${apiVersion}","kind":"Article","metadata":{"name":"proto-${field}","${field}":{"__proto__":"x","a":"b"}},"spec":{}}`;
    const { status, body } = await client.post(articles, text);
    if (status === 201) expect(Object.keys(body.metadata[field as 'labels'])).toEqual(['a']);
    else expect([400, 422]).toContain(status);
  });

  test.each([
    ['a number', 1],
    ['null in a list', [null]],
    ['a text', 'a=b'],
    ['a value that is not a string', { a: 1 }],
    ['a value that is an object', { a: {} }],
  ])('%s is 400', async (_, value) => {
    const { status, body } = await create({ [field]: value });
    expect([status, body.reason]).toEqual([400, 'BadRequest']);
  });

  test('an svc credential is 422, text with a wrong checksum is not one', async () => {
    const { status, body } = await create({ [field]: { 'example.com/key': env.token } });
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.message).not.toContain(env.token);
    const broken = env.token.slice(0, -1) + (env.token.endsWith('0') ? '1' : '0');
    expect((await create({ [field]: { 'example.com/key': broken } })).status).toBe(201);
  });

  test.each([
    ['PUT', (metadata: object) => client.put(`${articles}/kept`, article('kept', {}, { ...metadata }))],
    ['merge patch', (metadata: object) => client.patch(`${articles}/kept`, { metadata })],
    [
      'JSON patch',
      (metadata: object) =>
        client.patch(
          `${articles}/kept`,
          [{ op: 'add', path: `/metadata/${field}`, value: Object.values(metadata)[0] }],
          jsonPatch,
        ),
    ],
  ])('%s has the same rules', async (_, write) => {
    const before = await client.get(`${articles}/kept`);
    for (const bad of [{ 'svc.run/mine': 'x' }, { '-a': 'x' }, { secret: env.token }]) {
      expect((await write({ [field]: bad })).status).toBe(422);
    }
    expect((await client.get(`${articles}/kept`)).text).toBe(before.text);
  });
});

describe('a label of the platform among the annotations', () => {
  const metadata = { annotations: { 'svc.run/do-not-overwrite': 'true' } };
  const warning =
    '299 - "metadata.annotations: \\"svc.run/do-not-overwrite\\" has no effect here: it is a label, which belongs into metadata.labels"';

  test.each(['', '?dryRun=All'])('causes a warning with every verb that writes it, %j', async (query) => {
    const name = `misplaced${query.length}`;
    const path = `${articles}/${name}`;
    const { body } = await client.post(articles, article(name));
    const answers = [
      await client.post(`${articles}${query}`, article(`${name}-more`, {}, metadata)),
      await client.put(
        `${path}${query}`,
        article(name, {}, { ...metadata, resourceVersion: body.metadata.resourceVersion }),
      ),
      await client.patch(`${path}${query}`, { metadata }),
      await client.patch(
        `${path}${query}`,
        [{ op: 'add', path: '/metadata/annotations', value: metadata.annotations }],
        jsonPatch,
      ),
      await client.patch(`${definitions}/articles.${group}${query}`, { metadata }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get('warning')])).toEqual(
      [201, 200, 200, 200, 200].map((status) => [status, expect.stringContaining(warning)]),
    );
  });

  test('causes no warning in its place', async () => {
    expect((await create({ labels: { 'svc.run/do-not-overwrite': 'true' } })).headers.get('warning')).toBeNull();
  });
});

describe('values', () => {
  test.each([
    ['empty', ''],
    ['63 characters', 'v'.repeat(63)],
    ['all allowed characters', 'Az0-._9'],
  ])('of a label: %s', async (_, value) => {
    expect((await create({ labels: { key: value } })).body.metadata.labels).toEqual({ key: value });
  });

  test.each([
    ['64 characters', 'v'.repeat(64)],
    ['a space', 'a b'],
    ['a leading dash', '-a'],
    ['a trailing dot', 'a.'],
    ['a slash', 'a/b'],
    ['another alphabet', 'größe'],
    ['a line feed', 'a\n'],
  ])('of a label: %s is 422', async (_, value) => {
    expect((await create({ labels: { key: value } })).status).toBe(422);
  });

  test('of an annotation may be any text', async () => {
    const text = 'two\nlines, {"json": true} and größe 😀';
    expect((await create({ annotations: { text } })).body.metadata.annotations).toEqual({ text });
  });

  test('of annotations: at most 256 KiB in total', async () => {
    const half = 'x'.repeat(128 * 1024 - 1);
    expect((await create({ annotations: { a: half, b: half } })).status).toBe(201);
    expect((await create({ annotations: { a: half, b: `${half}xx` } })).status).toBe(422);
  });

  test('a credential inside a longer annotation is 422', async () => {
    expect((await create({ annotations: { text: `use ${env.token} for it` } })).status).toBe(422);
  });
});

describe('other metadata', () => {
  test.each([
    ['labels as text', { labels: 'x' }],
    ['finalizers as text', { finalizers: 'x' }],
    ['a finalizer that is a number', { finalizers: [1] }],
    ['ownerReferences as an object', { ownerReferences: {} }],
    ['name as a number', { name: 5 }],
    ['generateName as a list', { generateName: [] }],
  ])('%s is 400', async (_, metadata) => {
    expect((await create(metadata)).status).toBe(400);
  });

  test('metadata that is not an object is 400', async () => {
    for (const metadata of ['x', [], 7])
      expect((await client.post(articles, { ...article('x'), metadata })).status).toBe(400);
  });

  test.each([
    ['an invalid finalizer', { finalizers: ['no spaces allowed/x y'] }],
    ['an owner without a name', { ownerReferences: [{ apiVersion: 'v1', kind: 'X', uid: 'u' }] }],
  ])('%s is 422', async (_, metadata) => {
    expect((await create(metadata)).status).toBe(422);
  });

  test('unknown fields of metadata are pruned', async () => {
    const { status, body } = await create({ bogus: 1 });
    expect(status).toBe(201);
    expect(body.metadata).not.toHaveProperty('bogus');
  });
});
