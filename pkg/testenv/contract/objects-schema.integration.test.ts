import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, type ContractClient } from './client.ts';
import { article, articles, registerModels, sections } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { title: 'kept' }));
});
afterAll(() => env.stop());

const broken: [string, Record<string, unknown>, string, string | undefined][] = [
  ['too long', { title: 'x'.repeat(41) }, 'spec.title', 'FieldValueTooLong'],
  ['too short', { title: '' }, 'spec.title', undefined],
  ['above the maximum', { priority: 1001 }, 'spec.priority', 'FieldValueInvalid'],
  ['below the minimum', { priority: -1001 }, 'spec.priority', 'FieldValueInvalid'],
  ['of another type', { priority: 'high' }, 'spec.priority', 'FieldValueTypeInvalid'],
  ['a boolean as text', { published: 'true' }, 'spec.published', 'FieldValueTypeInvalid'],
  ['not matching the pattern', { code: 'abc' }, 'spec.code', 'FieldValueInvalid'],
  ['not in the enum', { format: 'pdf' }, 'spec.format', 'FieldValueNotSupported'],
  ['no date', { publishedAt: 'yesterday' }, 'spec.publishedAt', undefined],
  ['an item of another type', { tags: ['a', 5] }, 'spec.tags[1]', 'FieldValueTypeInvalid'],
];

describe('the schema is enforced', () => {
  test.each(broken)('on create: %s', async (_, spec, field, reason) => {
    const { status, body } = await client.post(articles, article('broken', spec));
    expect([status, body.reason, body.code]).toEqual([422, 'Invalid', 422]);
    expect(body.details).toMatchObject({ name: 'broken', group: 'contract.example.com', kind: 'Article' });
    expect(body.details.causes).toHaveLength(1);
    expect(body.details.causes![0]!.field).toBe(field);
    if (reason !== undefined) expect(body.details.causes![0]!.reason).toBe(reason);
    expect(body.message).toBe(
      `Article.contract.example.com "broken" is invalid: ${field}: ${body.details.causes![0]!.message}`,
    );
    expect((await client.get(`${articles}/broken`)).status).toBe(404);
  });

  test.each(broken)('on update: %s', async (_, spec, field) => {
    const before = await client.get(`${articles}/kept`);
    const writes = [
      await client.put(`${articles}/kept`, article('kept', spec)),
      await client.patch(`${articles}/kept`, { spec }),
      await client.patch(`${articles}/kept`, [{ op: 'replace', path: '/spec', value: spec }], jsonPatch),
    ];
    for (const { status, body } of writes) {
      expect([status, body.details?.causes?.[0]?.field]).toEqual([422, field]);
    }
    expect((await client.get(`${articles}/kept`)).text).toBe(before.text);
  });

  test('one cause per field, sorted, in one message', async () => {
    const { body } = await client.post(
      articles,
      article('several', { title: 'x'.repeat(41), priority: 5000, code: 'a' }),
    );
    expect(body.details.causes?.map(({ field }) => field)).toEqual(['spec.code', 'spec.priority', 'spec.title']);
    expect(body.message).toMatch(
      /^Article\.contract\.example\.com "several" is invalid: \[spec\.code: .*, spec\.priority: .*, spec\.title: .*\]$/,
    );
  });

  test('with the literal messages of Kubernetes', async () => {
    const { body } = await client.post(
      articles,
      article('literal', { title: 'x'.repeat(41), priority: 5000, published: 'x' }),
    );
    expect(body.details.causes?.map(({ message }) => message)).toEqual([
      'Invalid value: 5000: spec.priority in body should be less than or equal to 1000',
      'Invalid value: "string": spec.published in body must be of type boolean: "string"',
      expect.stringMatching(/^Too long: may not be more than 40 (bytes|characters)$/),
    ]);
  });

  test('length counts characters', async () => {
    expect((await client.post(articles, article('emoji', { title: '😀'.repeat(40) }))).status).toBe(201);
  });
});

describe('nulls', () => {
  test('are kept where nullable and pruned elsewhere', async () => {
    const { status, body } = await client.post(articles, article('nulls', { subtitle: null, title: null, slug: null }));
    expect([status, body.spec]).toEqual([201, { subtitle: null }]);
  });

  test('an index that must not be null is 422', async () => {
    const section = (name: string, spec: object) => ({ ...article(name), kind: 'Section', spec });
    const refused = await client.post(sections, section('none', {}));
    expect([refused.status, refused.body.reason]).toEqual([422, 'Invalid']);
    expect((await client.post(sections, section('some', { code: 'a' }))).status).toBe(201);
    expect((await client.put(`${sections}/some`, section('some', {}))).status).toBe(422);
    expect((await client.patch(`${sections}/some`, { spec: { code: null } })).status).toBe(422);
    expect((await client.get(`${sections}/some`)).body.spec).toEqual({ code: 'a' });
  });
});

describe('a unique index', () => {
  test('is 409 with its name, for each write', async () => {
    expect((await client.post(articles, article('first', { slug: 'taken' }))).status).toBe(201);
    const created = await client.post(articles, article('second', { slug: 'taken' }));
    expect(created.status).toBe(409);
    expect(created.text).toContain('slug');
    await client.post(articles, article('third', { slug: 'free' }));
    for (const refused of [
      await client.put(`${articles}/third`, article('third', { slug: 'taken' })),
      await client.patch(`${articles}/third`, { spec: { slug: 'taken' } }),
    ]) {
      expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('slug')]);
    }
    expect((await client.get(`${articles}/third`)).body.spec).toEqual({ slug: 'free' });
  });

  test('allows many nulls, and frees a removed value', async () => {
    expect((await client.post(articles, article('null-a'))).status).toBe(201);
    expect((await client.post(articles, article('null-b'))).status).toBe(201);
    await client.post(articles, article('gives-up', { slug: 'given' }));
    await client.patch(`${articles}/gives-up`, { spec: { slug: null } });
    expect((await client.post(articles, article('takes', { slug: 'given' }))).status).toBe(201);
    await client.delete(`${articles}/takes`);
    expect((await client.post(articles, article('takes-again', { slug: 'given' }))).status).toBe(201);
  });
});
