import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, json, jsonPatch, names, yaml, type ContractClient } from './client.ts';
import { apiVersion, article, articles, note, notesIn, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { title: 'kept' }));
});
afterAll(() => env.stop());

describe('identity of URL and body', () => {
  const kept = article('kept', { title: 'changed' });
  test.each([
    ['another kind', { ...kept, kind: 'Report' }],
    ['no kind', { ...kept, kind: undefined }],
    ['another version', { ...kept, apiVersion: 'contract.example.com/v2' }],
    ['another group', { ...kept, apiVersion: 'other.example.com/v1' }],
    ['no apiVersion', { ...kept, apiVersion: undefined }],
    ['kind and apiVersion of other types', { ...kept, kind: 7, apiVersion: [] }],
  ])('%s is 400 on POST and PUT', async (_, body) => {
    const refused = await client.post(articles, { ...body, metadata: { name: 'fresh' } });
    expect([refused.status, refused.body.reason]).toEqual([400, 'BadRequest']);
    expect((await client.put(`${articles}/kept`, body)).status).toBe(400);
    expect((await client.get(`${articles}/kept`)).body.spec).toEqual({ title: 'kept' });
    expect((await client.get(`${articles}/fresh`)).status).toBe(404);
  });

  test.each([
    ['without kind and apiVersion', {}],
    ['with empty ones', { kind: '', apiVersion: null }],
  ])('a body of a built-in kind %s is that of the path', async (_, type) => {
    const configMaps = '/api/v1/namespaces/default/configmaps';
    const metadata = { generateName: 'typeless-' };
    const created = await client.post(configMaps, { ...type, metadata, data: { a: '1' } });
    const expected = { kind: 'ConfigMap', apiVersion: 'v1' };
    expect([created.status, created.body]).toEqual([201, expect.objectContaining(expected)]);
    const { name } = created.body.metadata;
    const put = await client.put(`${configMaps}/${name}`, { ...type, metadata: { name }, data: { a: '2' } });
    expect([put.status, put.body]).toEqual([200, expect.objectContaining({ ...expected, data: { a: '2' } })]);
    expect((await client.post(configMaps, { ...type, kind: 'Secret', metadata })).status).toBe(400);
    expect((await client.post(configMaps, { ...type, apiVersion: 'v2', metadata })).status).toBe(400);
  });

  test('the messages name both values', async () => {
    const name = await client.put(`${articles}/kept`, { ...kept, metadata: { name: 'zz' } });
    expect([name.status, name.body.message]).toEqual([
      400,
      'the name of the object (zz) does not match the name on the URL (kept)',
    ]);
    const version = await client.post(articles, { ...kept, apiVersion: 'other/v1' });
    expect(version.body.message).toBe(
      `the API version in the data (other/v1) does not match the expected API version (${apiVersion})`,
    );
  });

  test('PUT without a name is 400', async () => {
    expect((await client.put(`${articles}/kept`, { ...kept, metadata: {} })).status).toBe(400);
  });

  test.each([
    ['another name', { metadata: { name: 'zz' } }],
    ['another kind', { kind: 'Report' }],
    ['another apiVersion', { apiVersion: 'other.example.com/v1' }],
  ])('a patch to %s is refused', async (_, patch) => {
    expect([400, 422]).toContain((await client.patch(`${articles}/kept`, patch)).status);
    expect((await client.get(`${articles}/kept`)).body).toMatchObject({
      apiVersion,
      kind: 'Article',
      metadata: { name: 'kept' },
    });
  });

  test('a namespace other than that of the URL is 400, and a missing one is filled in', async () => {
    expect((await client.post(notesIn('default'), note('n', {}, { namespace: 'other' }))).status).toBe(400);
    expect((await client.post(notesIn('default'), note('n'))).body.metadata.namespace).toBe('default');
  });
});

describe('bodies that are not objects', () => {
  test.each([
    ['nothing', ''],
    ['a text', '"x"'],
    ['null', 'null'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['cut off', '{"apiVersion":'],
    ['two documents', '{}{}'],
    ['spec of another type', JSON.stringify({ ...article('x'), spec: [] })],
    ['comments', `/* x */${JSON.stringify(article('x'))}`],
  ])('%s is a client error', async (_, body) => {
    for (const [method, path] of [
      ['POST', articles],
      ['PUT', `${articles}/kept`],
      ['PATCH', `${articles}/kept`],
    ] as const) {
      if (method === 'PATCH' && body === '[]') continue; // a JSON patch of nothing
      const headers = method === 'PATCH' ? jsonPatch : json;
      const refused = await client.send(method, path, { body, headers });
      expect([400, 422]).toContain(refused.status);
      expect(refused.body).toMatchObject({ kind: 'Status', status: 'Failure', code: refused.status });
    }
    expect((await client.get(`${articles}/x`)).status).toBe(404);
  });

  test('a body without apiVersion and kind is 400', async () => {
    expect((await client.post(articles, { metadata: { name: 'x' }, spec: {} })).status).toBe(400);
  });

  test.each([
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from('{"apiVersion":"'), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from(JSON.stringify(article('x')), 'utf16le')],
  ])('%s is 400', async (_, body) => {
    const headers = { authorization: `Bearer ${env.token}`, ...json };
    const response = await fetch(`${env.url}${articles}`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
  });
});

describe('unknown fields', () => {
  const unknown = {
    ...article('unknown', { title: 'a', bogus: 1, apiVersion: 'v1', kind: 'A', metadata: { name: 'n' } }),
    extraTop: true,
  };
  test.each([
    ['Strict', 'POST'],
    ['Strict', 'PUT'],
    ['Strict', 'PATCH'],
  ])('%s refuses them: %s', async (validation, method) => {
    const path = method === 'POST' ? articles : `${articles}/kept`;
    const sent = { ...unknown, metadata: { name: method === 'POST' ? 'unknown-s' : 'kept' } };
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
    const refused = await client.send(method, `${path}?fieldValidation=${validation}`, { body: sent, headers });
    expect([refused.status, refused.body.reason]).toEqual([400, 'BadRequest']);
    expect(refused.body.message).toContain('strict decoding error: ');
    for (const field of ['bogus', 'apiVersion', 'kind', 'metadata'])
      expect(refused.body.message).toContain(`unknown field "spec.${field}"`);
    expect(refused.body.message).toContain('unknown field "extraTop"');
    expect((await client.get(`${articles}/kept`)).body.spec).toEqual({ title: 'kept' });
  });

  test.each([
    ['Warn', '?fieldValidation=Warn', true],
    ['the default', '', true],
    ['Ignore', '?fieldValidation=Ignore', false],
  ])('%s prunes them', async (reason, query, warns) => {
    const name = `unknown-${reason.toLowerCase().replaceAll(/[^a-z]/g, '')}`;
    const created = await client.post(`${articles}${query}`, { ...unknown, metadata: { name } });
    expect([created.status, created.body.spec]).toEqual([201, { title: 'a' }]);
    expect(created.body).not.toHaveProperty('extraTop');
    const warning = created.headers.get('warning');
    if (warns) expect(warning).toMatch(/^299 - ".*unknown field \\"spec\.bogus\\"/);
    else expect(warning).toBeNull();
    const put = await client.put(`${articles}/${name}${query}`, {
      ...unknown,
      metadata: { name },
      spec: { title: 'b', bogus: 1 },
    });
    expect([put.status, put.body.spec, put.headers.has('warning')]).toEqual([200, { title: 'b' }, warns]);
    const patched = await client.patch(`${articles}/${name}${query}`, { spec: { title: 'c', bogus: 1 } });
    expect([patched.status, patched.body.spec, patched.headers.has('warning')]).toEqual([200, { title: 'c' }, warns]);
  });

  test('duplicate fields count as unknown ones', async () => {
    const text = `{"apiVersion":"${apiVersion}","kind":"Article","metadata":{"name":"double"},"spec":{"title":"a","title":"b"}}`;
    const strict = await client.post(`${articles}?fieldValidation=Strict`, text);
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('duplicate field "spec.title"');
    const warned = await client.post(articles, text);
    expect([warned.status, warned.headers.get('warning')]).toEqual([201, expect.stringContaining('duplicate field')]);
  });

  test('another value of fieldValidation is 422', async () => {
    const { status, body } = await client.post(`${articles}?fieldValidation=Zzz`, article('zzz'));
    expect([status, body.reason]).toEqual([422, 'Invalid']);
    expect(body.message).toContain(
      'fieldValidation: Unsupported value: "Zzz": supported values: "", "Ignore", "Strict", "Warn"',
    );
  });

  test('unknown query parameters are ignored', async () => {
    expect(
      (await client.post(`${articles}?fieldManager=me&pretty=true&timeout=5s&zzz=1`, article('query'))).status,
    ).toBe(201);
    expect((await client.get(`${articles}/query?pretty=true&zzz=1`)).status).toBe(200);
    expect((await client.get(`${articles}?zzz=1&timeout=32s`)).status).toBe(200);
  });
});

test.each(['Application/JSON', 'application/json; charset="UTF-8"', 'application/json ;charset=utf-8'])(
  'the media type %s is JSON',
  async (type) => {
    const sent = JSON.stringify(article(`type-${type.length}`));
    expect((await client.post(articles, sent, { 'content-type': type })).status).toBe(201);
  },
);

describe('YAML', () => {
  const text = (name: string) =>
    `apiVersion: ${apiVersion}\nkind: Article\nmetadata:\n  name: ${name}\nspec:\n  title: 'yes'\n  priority: 5\n`;
  test.each(['application/yaml', 'application/yaml; charset=utf-8'])('%s is accepted', async (type) => {
    const name = `yaml-${type.length}`;
    const created = await client.post(articles, text(name), { 'content-type': type });
    expect([created.status, created.body.spec]).toEqual([201, { title: 'yes', priority: 5 }]);
    const put = await client.put(`${articles}/${name}`, text(name).replace('5', '6'), { 'content-type': type });
    expect([put.status, put.body.spec]).toEqual([200, { title: 'yes', priority: 6 }]);
  });

  test.each([
    ['two documents', `${text('y')}---\n${text('z')}`],
    ['broken', 'a: [b'],
    ['a tab', 'a:\n\tb: c'],
    [
      'an alias bomb',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'
        .split('')
        .map((c, i) => `${c}: &${c} [${`*${'abcdefghi'[i]!},`.repeat(9)}]`)
        .join('\n')}`,
    ],
    ['a cycle', `apiVersion: ${apiVersion}\nkind: Article\nmetadata: {name: y}\nspec: &s {extra: {self: *s}}`],
    ['deep', `a: ${'['.repeat(50_000)}`],
    ['a custom tag', `apiVersion: ${apiVersion}\nkind: Article\nmetadata: !!js/function {name: y}\nspec: {}`],
  ])('%s is a client error', async (_, body) => {
    const { status } = await client.post(articles, body, yaml);
    expect([400, 413, 422]).toContain(status);
    expect(names(await client.get(articles))).not.toContain('y');
  });

  test('answers come in YAML too', async () => {
    const accept = { accept: 'application/yaml' };
    const one = await client.get(`${articles}/kept`, accept);
    expect([one.status, one.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/yaml/)]);
    expect(one.text).toContain('kind: Article');
    expect((await client.get(articles, accept)).text).toContain('kind: ArticleList');
    const error = await client.get(`${articles}/absent`, accept);
    expect([error.status, error.text]).toEqual([404, expect.stringContaining('reason: NotFound')]);
  });
});
