import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, causesOf, retryUntilPasses, mergePatch } from './api-call.ts';
import {
  changeDefinition,
  createOrThrow,
  schemaWithSpec,
  register,
  version,
  type Registered,
  type Schema,
} from './models-definition.ts';

let env: TestEnv;
let model: Registered;

const free: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const keyed = (value: Schema): Schema => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['key'],
  items: { type: 'object', required: ['key'], properties: { key: { type: 'string' }, value } },
});

/** The stored value, valid when it was written; its description; the rule that was added later. */
const rules: Record<string, { stored: unknown; schema: Schema; illegal: unknown }> = {
  minimum: { stored: 1, schema: { type: 'integer', minimum: 5 }, illegal: 2 },
  maximum: { stored: 99, schema: { type: 'integer', maximum: 5 }, illegal: 98 },
  enum: { stored: 'old', schema: { type: 'string', enum: ['new'] }, illegal: 'older' },
  pattern: { stored: 'ABC', schema: { type: 'string', pattern: '^[a-z]*$' }, illegal: 'ABCD' },
  maxLength: { stored: 'too long', schema: { type: 'string', maxLength: 3 }, illegal: 'too long too' },
  minLength: { stored: 'x', schema: { type: 'string', minLength: 3 }, illegal: 'y' },
  format: { stored: 'yesterday', schema: { type: 'string', format: 'date-time' }, illegal: 'tomorrow' },
  maxItems: {
    stored: [1, 2, 3],
    schema: { type: 'array', maxItems: 2, items: { type: 'integer' } },
    illegal: [1, 2, 4],
  },
  map: {
    stored: { a: 'x' },
    schema: { type: 'object', additionalProperties: { type: 'string', minLength: 3 } },
    illegal: { a: 'y' },
  },
  set: {
    stored: ['a', 'a'],
    schema: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    illegal: ['a', 'a', 'b'],
  },
  keyed: {
    stored: [
      { key: 'a', value: 'long' },
      { key: 'b', value: 'ok' },
    ],
    schema: keyed({ type: 'string', maxLength: 2 }),
    illegal: [{ key: 'a', value: 'longer' }],
  },
};

beforeAll(async () => {
  env = await startTestEnv();
  model = await register(env, { spec: free });
  const spec = Object.fromEntries(Object.entries(rules).map(([name, { stored }]) => [name, stored]));
  await createOrThrow(env, model.path, model.object('old', spec));
  for (const name of Object.keys(rules))
    await createOrThrow(env, model.path, model.object(`old-${name.toLowerCase()}`, spec));
  await createOrThrow(env, model.path, model.object('logic', { capped: 5 }));
  const properties = Object.fromEntries(Object.entries(rules).map(([name, { schema }]) => [name, schema]));
  await changeDefinition(env, model.definition.metadata.name, ({ spec: wanted }) => {
    wanted.versions = [
      version(
        'v1',
        schemaWithSpec({
          type: 'object',
          properties: { ...properties, other: { type: 'integer' }, capped: { type: 'integer' } },
          allOf: [{ properties: { capped: { maximum: 3 } } }],
        }),
      ),
    ];
  });
  await retryUntilPasses(async () => {
    const probe = await call(env, `${model.path}?dryRun=All`, {
      method: 'POST',
      body: model.object('probe', { minimum: 1 }),
    });
    expect(probe.status).toBe(422);
  });
});

afterAll(() => env?.stop());

describe('values that were valid when they were written', () => {
  test('pass in an update that does not change them', async () => {
    const { body } = await call(env, `${model.path}/old`);
    const put = await call(env, `${model.path}/old`, {
      method: 'PUT',
      body: { ...body, spec: { ...body.spec, other: 1 } },
    });
    expect([put.status, causesOf(put)]).toEqual([200, []]);
    const patched = await call(env, `${model.path}/old`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { spec: { other: 2 }, metadata: { labels: { a: 'b' } } },
    });
    expect([patched.status, causesOf(patched)]).toEqual([200, []]);
  });

  test.each(Object.entries(rules).filter(([name]) => name !== 'set'))(
    '%s: a change to another invalid value is 422, to a valid value or a removal is 200',
    async (name, { illegal }) => {
      const path = `${model.path}/old-${name.toLowerCase()}`;
      const refused = await call(env, path, {
        method: 'PATCH',
        headers: mergePatch,
        body: { spec: { [name]: illegal } },
      });
      expect(refused.status).toBe(422);
      for (const { field } of refused.body.details.causes!) expect(field).toMatch(new RegExp(`^spec\\.${name}\\b`));
      const removed = await call(env, path, { method: 'PATCH', headers: mergePatch, body: { spec: { [name]: null } } });
      expect(removed.status).toBe(200);
    },
  );

  test('items of a map list are matched by their key, at any position', async () => {
    const { body } = await call(env, `${model.path}/old`);
    const metadata = { name: 'old' };
    const moved = {
      ...body,
      metadata,
      spec: {
        ...body.spec,
        keyed: [
          { key: 'c', value: 'ok' },
          { key: 'a', value: 'long' },
        ],
      },
    };
    const answer = await call(env, `${model.path}/old`, { method: 'PUT', body: moved });
    expect([answer.status, causesOf(answer)]).toEqual([200, []]);
    const another = { ...body, metadata, spec: { ...body.spec, keyed: [{ key: 'd', value: 'long' }] } };
    expect((await call(env, `${model.path}/old`, { method: 'PUT', body: another })).status).toBe(422);
  });

  test('a new object must follow the current rules', async () => {
    for (const [name, { stored }] of Object.entries(rules)) {
      const answer = await call(env, model.path, {
        method: 'POST',
        body: model.object(`new-${name.toLowerCase()}`, { [name]: stored }),
      });
      expect([name, answer.status]).toEqual([name, 422]);
    }
  });

  test('rules below allOf do not ratchet if their value changes', async () => {
    const answer = await call(env, `${model.path}/logic`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { spec: { other: 1 } },
    });
    expect(answer.status).toBe(422);
  });

  test('an invalid object can be deleted', async () => {
    expect((await call(env, `${model.path}/logic`, { method: 'DELETE' })).status).toBe(200);
  });
});
