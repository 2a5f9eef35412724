import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, json, jsonPatch, mergePatch, type ContractClient } from './client.ts';
import { apiVersion, article, articles, registerModels } from './models.ts';

const mebibyte = 1024 * 1024;
let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { title: 'kept' }));
});
afterAll(() => env.stop());

function textOf(name: string, spec: string): string {
  return `{"apiVersion":"${apiVersion}","kind":"Article","metadata":{"name":"${name}"},"spec":${spec}}`;
}

describe('the body limit', () => {
  test('applies to each method', async () => {
    const body = textOf('kept', `{"body":"${'x'.repeat(3 * mebibyte)}"}`);
    for (const [method, path, headers] of [
      ['POST', articles, json],
      ['PUT', `${articles}/kept`, json],
      ['PATCH', `${articles}/kept`, mergePatch],
      ['DELETE', `${articles}/kept`, json],
    ] as const) {
      const refused = await client.send(method, path, { body, headers });
      expect([method, refused.status, refused.body.reason]).toEqual([method, 413, 'RequestEntityTooLarge']);
    }
  });

  test('applies without a Content-Length', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(mebibyte));
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        if ((sent += 1) > 5) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const init = { method: 'POST', body, duplex: 'half', headers: { authorization: `Bearer ${env.token}`, ...json } };
    const status = await fetch(`${env.url}${articles}`, init as RequestInit).then(
      (response) => response.status,
      () => 413,
    ); // the server may cut the sender off
    expect(status).toBe(413);
  });

  test('accepts a body just below it', async () => {
    const { status, body } = await client.post(articles, article('large', { body: 'x'.repeat(3 * mebibyte - 1000) }));
    expect(status).toBe(201);
    expect((body.spec['body'] as string).length).toBe(3 * mebibyte - 1000);
    expect((await client.get(`${articles}/large`)).status).toBe(200);
  });
});

describe('nesting', () => {
  const nested = (depth: number, [open, close]: readonly [string, string]) =>
    `${open.repeat(depth)}1${close.repeat(depth)}`;
  test.each([
    ['lists', ['[', ']']],
    ['objects', ['{"a":', '}']],
  ] as const)('deeper than 100 is 400: %s', async (kind, marks) => {
    const fine = await client.post(articles, textOf(`deep-${kind}`, `{"extra":{"a":${nested(90, marks)}}}`));
    expect(fine.status).toBe(201);
    for (const depth of [101, 1000, 500_000]) {
      const body = textOf('deeper', `{"extra":{"a":${nested(depth, marks)}}}`);
      const refused = await client.post(articles, body);
      expect([depth, refused.status]).toEqual([depth, body.length > 3 * mebibyte ? 413 : 400]);
      const put = await client.put(`${articles}/kept`, body.replace('deeper', 'kept'));
      expect(put.status).toBe(refused.status);
      const patched = await client.patch(`${articles}/kept`, body.replace('deeper', 'kept'));
      expect(patched.status).toBe(refused.status);
    }
    expect((await client.get(`${articles}/kept`)).body.spec).toEqual({ title: 'kept' });
  });

  test('cannot be exceeded by patches', async () => {
    await client.post(articles, article('grows', { extra: { a: 1 } }));
    const value = JSON.parse(nested(60, ['{"a":', '}'])) as unknown;
    const into = `/spec/extra${'/a'.repeat(55)}`;
    expect(
      (await client.patch(`${articles}/grows`, [{ op: 'add', path: '/spec/extra/a', value }], jsonPatch)).status,
    ).toBe(200);
    expect([400, 422]).toContain(
      (await client.patch(`${articles}/grows`, [{ op: 'add', path: into, value }], jsonPatch)).status,
    );
  });
});

describe('prototype keys', () => {
  test.each(['__proto__', 'constructor', 'prototype'])('%s reaches no object', async (key) => {
    const name = `proto-${key.replaceAll('_', '')}`;
    const created = await client.post(
      articles,
      textOf(name, `{"title":"a","extra":{"${key}":{"polluted":1}},"${key}":{"polluted":1}}`),
    );
    expect([201, 400, 422]).toContain(created.status);
    const merged = await client.patch(`${articles}/kept`, `{"spec":{"${key}":{"polluted":1}}}`);
    expect([200, 400, 422]).toContain(merged.status);
    const patched = await client.patch(
      `${articles}/kept`,
      `[{"op":"add","path":"/${key}/polluted","value":1}]`,
      jsonPatch,
    );
    expect([200, 400, 422]).toContain(patched.status);
    expect((await client.get(`${articles}/kept`)).body.spec).toEqual({ title: 'kept' });
    expect((await client.get(`${articles}?fieldSelector=${key}%3Dx`)).status).toBe(400);
    expect((await client.get(`${articles}?sort=${key}`)).status).toBe(400);
    expect((await client.get(`${articles}?labelSelector=${key}%3Dx`)).status).toBeLessThan(500);
    expect({}).not.toHaveProperty('polluted');
  });

  test('__proto__ is not in the answer', async () => {
    const { status, text } = await client.post(
      articles,
      textOf('proto-gone', '{"extra":{"__proto__":{"polluted":1},"b":2}}'),
    );
    if (status === 201) expect(text).not.toContain('polluted');
    else expect([400, 422]).toContain(status);
  });
});

describe('integers', () => {
  test.each([
    '9007199254740991',
    '9007199254740992',
    '9007199254740993',
    '-9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ])('%s is kept exactly or refused', async (big) => {
    const name = `int${big.replace('-', 'm')}`;
    const created = await client.post(articles, textOf(name, `{"big":${big},"extra":{"n":${big}}}`));
    if (created.status === 422) return;
    expect(created.status).toBe(201);
    const exact = new RegExp(`"big":${big}\\b.*"n":${big}\\b`);
    expect(created.text).toMatch(exact);
    expect((await client.get(`${articles}/${name}`)).text).toMatch(exact);
    expect(
      (await client.get(`${articles}?fieldSelector=big%3D${big}`)).body.items?.map(({ metadata }) => metadata.name),
    ).toEqual([name]);
    expect((await client.patch(`${articles}/${name}`, { metadata: { labels: { a: 'b' } } })).text).toMatch(exact);
    expect(
      (
        await client.patch(
          `${articles}/${name}`,
          [
            { op: 'test', path: '/spec/title', value: null },
            { op: 'add', path: '/spec/title', value: 'x' },
          ].slice(1),
          jsonPatch,
        )
      ).text,
    ).toMatch(exact);
    expect((await client.put(`${articles}/${name}`, textOf(name, `{"big":${big},"extra":{"n":${big}}}`))).text).toMatch(
      exact,
    );
  });

  test.each(['9223372036854775808', '-9223372036854775809', '123456789012345678901234567890', '1e300'])(
    '%s is out of range and is 422',
    async (big) => {
      for (const spec of [`{"big":${big}}`]) {
        const refused = await client.post(articles, textOf('too-big', spec));
        expect([refused.status, refused.body.reason]).toEqual([422, 'Invalid']);
      }
    },
  );

  test.each(['1e400', '-1e999'])('%s is a JSON number that cannot be kept', async (huge) => {
    expect([400, 422]).toContain((await client.post(articles, textOf('huge', `{"score":${huge}}`))).status);
  });

  test('a fraction is refused as an integer and kept as a number', async () => {
    expect((await client.post(articles, textOf('fraction', '{"priority":1.5}'))).status).toBe(422);
    const { text } = await client.post(articles, textOf('numbers', '{"score":0.1,"extra":{"a":-0.5e-3,"b":1.5e3}}'));
    expect((JSON.parse(text) as { spec: unknown }).spec).toEqual({ score: 0.1, extra: { a: -0.0005, b: 1500 } });
  });
});

describe('texts', () => {
  test('of all Unicode planes are returned unchanged', async () => {
    const title = 'größe 😀 \u2028 \u0001 "\\';
    expect((await client.post(articles, article('unicode', { title }))).body.spec).toEqual({ title });
    expect((await client.get(`${articles}/unicode`)).body.spec).toEqual({ title });
  });

  test.each([
    ['U+0000', 'a\0b'],
    ['a lone surrogate', 'a\ud800b'],
    ['a lone low surrogate', '\udc00'],
  ])('%s is a client error', async (_, body) => {
    expect([400, 422]).toContain((await client.post(articles, article('odd', { body }))).status);
    expect([400, 422]).toContain((await client.patch(`${articles}/kept`, { spec: { body } })).status);
    expect([400, 422]).toContain((await client.patch(`${articles}/kept`, { spec: { extra: { [body]: 1 } } })).status);
  });

  test('of an index are at most 1 kB', async () => {
    expect((await client.post(articles, article('key-1000', { slug: 's'.repeat(1000) }))).status).toBe(201);
    const long = await client.post(articles, article('key-1025', { slug: 's'.repeat(1025) }));
    expect([long.status, long.body.reason]).toEqual([422, 'Invalid']);
    expect((await client.post(articles, article('key-multi', { tags: ['t'.repeat(1025)] }))).status).toBe(422);
  });
});
