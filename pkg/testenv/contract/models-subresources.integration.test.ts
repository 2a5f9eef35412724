import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, causesOf, jsonPatch, mergePatch, type ApiResponse } from './api-call.ts';
import { createOrThrow, register, statusAndScale, type Registered } from './models-definition.ts';

let env: TestEnv;
let model: Registered;
let plain: Registered;

beforeAll(async () => {
  env = await startTestEnv();
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { replicas: { type: 'integer' }, title: { type: 'string', maxLength: 5 } } },
      status: {
        type: 'object',
        properties: {
          replicas: { type: 'integer', maximum: 100 },
          selector: { type: 'string' },
          phase: { type: 'string', default: 'New' },
        },
      },
    },
  };
  [model, plain] = await Promise.all([register(env, { schema, definitionVersion: statusAndScale }), register(env)]);
});

afterAll(() => env?.stop());

const one = (name: string, subresource = ''): string => `${model.path}/${name}${subresource}`;
const put = (path: string, body: unknown): Promise<ApiResponse> => call(env, path, { method: 'PUT', body });
const patch = (path: string, body: unknown): Promise<ApiResponse> =>
  call(env, path, { method: 'PATCH', headers: mergePatch, body });
const read = (path: string): Promise<ApiResponse> => call(env, path);

describe('/status', () => {
  test('create ignores status', async () => {
    const created = await createOrThrow(env, model.path, { ...model.object('drop'), status: { replicas: 3 } });
    expect(created).not.toHaveProperty('status.replicas');
    expect(created.metadata.generation).toBe(1);
  });

  test('PUT and PATCH of the object ignore status, and those of /status ignore all else', async () => {
    await createOrThrow(env, model.path, model.object('split', { title: 'a' }));
    const both = (n: number, title: string): Record<string, unknown> =>
      model.object('split', { title }, { status: { replicas: n } });
    const set = await put(one('split', '/status'), both(3, 'zzz'));
    expect([set.status, set.body.spec, set.body.status]).toEqual([
      200,
      { title: 'a' },
      expect.objectContaining({ replicas: 3 }),
    ]);
    const main = await put(one('split'), both(9, 'b'));
    expect([main.status, main.body.spec, main.body.status]).toEqual([
      200,
      { title: 'b' },
      expect.objectContaining({ replicas: 3 }),
    ]);
    const patched = await patch(one('split'), { spec: { title: 'c' }, status: { replicas: 9 } });
    expect([patched.body.spec, patched.body.status]).toEqual([
      { title: 'c' },
      expect.objectContaining({ replicas: 3 }),
    ]);
    const statusPatched = await patch(one('split', '/status'), { spec: { title: 'd' }, status: { replicas: 4 } });
    expect([statusPatched.body.spec, statusPatched.body.status]).toEqual([
      { title: 'c' },
      expect.objectContaining({ replicas: 4 }),
    ]);
    expect((await read(one('split', '/status'))).body).toEqual((await read(one('split'))).body);
  });

  test('the generation changes with the spec only', async () => {
    await createOrThrow(env, model.path, model.object('gen', { title: 'a' }));
    const generation = async (answer: Promise<ApiResponse>): Promise<number> => (await answer).body.metadata.generation;
    expect(await generation(patch(one('gen', '/status'), { status: { replicas: 1 } }))).toBe(1);
    expect(await generation(patch(one('gen'), { metadata: { labels: { a: 'b' } } }))).toBe(1);
    expect(await generation(patch(one('gen'), { spec: { title: 'b' } }))).toBe(2);
    expect(await generation(patch(one('gen'), { spec: { title: 'b' } }))).toBe(2);
  });

  test('a no-op keeps the resourceVersion', async () => {
    await createOrThrow(env, model.path, model.object('noop'));
    const first = await patch(one('noop', '/status'), { status: { replicas: 1 } });
    const second = await patch(one('noop', '/status'), { status: { replicas: 1 } });
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  test('is validated, pruned and defaulted', async () => {
    await createOrThrow(env, model.path, model.object('checked'));
    const refused = await patch(one('checked', '/status'), { status: { replicas: 101 } });
    expect([refused.status, causesOf(refused)]).toEqual([
      422,
      [
        'status.replicas: FieldValueInvalid: Invalid value: 101: status.replicas in body should be less than or equal to 100',
      ],
    ]);
    const kept = await patch(one('checked', '/status'), { status: { replicas: 1, bogus: 1 } });
    expect(kept.body.status).toEqual({ replicas: 1, phase: 'New' });
  });

  test('a stale resourceVersion is 409, DELETE and POST are 405, of a model without it 404', async () => {
    await createOrThrow(env, model.path, model.object('verbs'));
    const { body } = await read(one('verbs'));
    await patch(one('verbs'), { spec: { title: 'x' } });
    expect((await put(one('verbs', '/status'), { ...body, status: { replicas: 1 } })).status).toBe(409);
    expect((await call(env, one('verbs', '/status'), { method: 'DELETE' })).status).toBe(405);
    expect((await call(env, one('verbs', '/status'), { method: 'POST', body })).status).toBe(405);
    await createOrThrow(env, plain.path, plain.object('p'));
    for (const subresource of ['status', 'scale', 'bogus'])
      expect((await read(`${plain.path}/p/${subresource}`)).status).toBe(404);
    expect((await read(one('verbs', '/bogus'))).status).toBe(404);
    expect((await read(one('absent', '/status'))).status).toBe(404);
  });

  test('without the subresource status is part of the object, and moves the generation', async () => {
    const created = await createOrThrow(env, plain.path, plain.object('part', {}, { status: { phase: 'a' } }));
    expect(created.status).toEqual({ phase: 'a' });
    const changed = await put(`${plain.path}/part`, plain.object('part', {}, { status: { phase: 'b' } }));
    expect([changed.body.status, changed.body.metadata.generation]).toEqual([{ phase: 'b' }, 2]);
  });

  test('strategic merge patch is 415 everywhere', async () => {
    for (const subresource of ['', '/status', '/scale']) {
      const answer = await call(env, one('part', subresource), {
        method: 'PATCH',
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
        body: '{}',
      });
      expect(answer.status).toBe(415);
      for (const type of ['application/json-patch+json', 'application/merge-patch+json'])
        expect(answer.body.message).toContain(type);
    }
  });
});

describe('/scale', () => {
  test('shows replicas of spec and status and the selector', async () => {
    const created = await createOrThrow(env, model.path, model.object('shown', { replicas: 2 }));
    await patch(one('shown', '/status'), { status: { replicas: 1, selector: 'app=x' } });
    const answer = await read(one('shown', '/scale'));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: {
        name: 'shown',
        uid: created.metadata.uid,
        resourceVersion: (await read(one('shown'))).body.metadata.resourceVersion,
      },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=x' },
    });
  });

  test('PUT and PATCH change spec.replicas, never status', async () => {
    await createOrThrow(env, model.path, model.object('scaled', { replicas: 2, title: 'a' }));
    await patch(one('scaled', '/status'), { status: { replicas: 2 } });
    const scale = (await read(one('scaled', '/scale'))).body;
    const changed = await put(one('scaled', '/scale'), { ...scale, spec: { replicas: 5 }, status: { replicas: 99 } });
    expect([changed.status, changed.body.kind, changed.body.spec]).toEqual([200, 'Scale', { replicas: 5 }]);
    const object = (await read(one('scaled'))).body;
    expect([object.spec, object.status, object.metadata.generation]).toEqual([
      { replicas: 5, title: 'a' },
      expect.objectContaining({ replicas: 2 }),
      2,
    ]);
    expect((await patch(one('scaled', '/scale'), { spec: { replicas: 6 } })).body.spec).toEqual({ replicas: 6 });
    const byJson = await call(env, one('scaled', '/scale'), {
      method: 'PATCH',
      headers: jsonPatch,
      body: [{ op: 'replace', path: '/spec/replicas', value: 7 }],
    });
    expect([byJson.status, byJson.body.spec]).toEqual([200, { replicas: 7 }]);
    const stale = await put(one('scaled', '/scale'), { ...scale, spec: { replicas: 1 } });
    expect([stale.status, stale.body.reason]).toEqual([409, 'Conflict']);
  });

  test.each([-1, 2147483648, 'two', 1.5])('replicas %p are refused', async (replicas) => {
    await call(env, model.path, { method: 'POST', body: model.object('limits', { replicas: 1 }) });
    const answer = await patch(one('limits', '/scale'), { spec: { replicas } });
    expect([400, 422]).toContain(answer.status);
    expect((await read(one('limits'))).body.spec).toEqual({ replicas: 1 });
  });

  test('GET without replicas is an error that names the path; an update can set them', async () => {
    await createOrThrow(env, model.path, model.object('unset'));
    const answer = await read(one('unset', '/scale'));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(answer.body.message).toContain('the spec replicas field ".spec.replicas" does not exist');
    const set = await put(one('unset', '/scale'), {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'unset' },
      spec: { replicas: 3 },
    });
    expect([set.status, (await read(one('unset'))).body.spec]).toEqual([200, { replicas: 3 }]);
  });

  test('an update to 0 replicas, which Go leaves out, takes them from their manager, and nobody owns them', async () => {
    await createOrThrow(env, model.path, model.object('zero', { replicas: 2 }));
    const owners = async (): Promise<unknown> => {
      const { metadata } = (await call(env, one('zero'), { headers: { accept: 'application/json' } })).body;
      return (metadata as unknown as { managedFields: { fieldsV1: object }[] }).managedFields.map(
        (entry) => entry.fieldsV1,
      );
    };
    expect(await owners()).toEqual([{ 'f:spec': { '.': {}, 'f:replicas': {} } }]);
    expect((await patch(one('zero', '/scale'), { spec: { replicas: 0 } })).status).toBe(200);
    expect(await owners()).toEqual([{ 'f:spec': {} }]);
  });

  test('of a missing object is 404', async () => {
    expect((await read(one('absent', '/scale'))).status).toBe(404);
    expect((await patch(one('absent', '/scale'), { spec: { replicas: 1 } })).status).toBe(404);
  });
});
