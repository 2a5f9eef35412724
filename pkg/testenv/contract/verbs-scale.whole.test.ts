import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { applyPatch, clientOf, jsonPatch, type ContractClient, type WireBody } from './client.ts';
import {
  apiVersion,
  article,
  articles,
  definitionFor,
  definitions,
  registerModels,
  report,
  reports,
} from './models.ts';

const scalers = `/apis/${apiVersion}/scalers`;
const integer = { type: 'integer' };
const properties = {
  spec: { type: 'object', properties: { replicas: integer, note: { type: 'string' } } },
  status: { type: 'object', properties: { replicas: integer, selector: { type: 'string' } } },
};
const scalerDefinition = definitionFor({
  kind: 'Scaler',
  plural: 'scalers',
  spec: {},
  version: {
    schema: { openAPIV3Schema: { type: 'object', properties } },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
  },
});

let env: TestEnv;
let client: ContractClient;
let stored: WireBody;
let path = '';
let count = 0;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  expect((await client.post(definitions, scalerDefinition)).status).toBe(201);
  for (const end = Date.now() + 10_000; (await client.get(scalers)).status !== 200;)
    if (Date.now() > end) throw new Error('The model is not served.');
});
beforeEach(async () => {
  const name = `s-${(count += 1)}`;
  path = `${scalers}/${name}`;
  await client.post(scalers, scaler(name, { replicas: 2, note: 'a' }));
  stored = (await client.patch(`${path}/status`, { status: { replicas: 1, selector: 'a=b' } })).body;
});
afterAll(() => env.stop());

describe('managed fields of the replicas', () => {
  const whole = { accept: 'application/json' };
  const replicas = { 'f:spec': { 'f:replicas': {} } };
  type Entry = { manager: string; operation: string; subresource?: string; fieldsV1: unknown };
  const ownersOf = async (): Promise<unknown[][]> => {
    const { metadata } = (await client.get(path, whole)).body as unknown as { metadata: { managedFields: Entry[] } };
    return metadata.managedFields.map(({ manager, operation, subresource, fieldsV1 }) => [
      manager,
      operation,
      subresource,
      fieldsV1,
    ]);
  };
  const scaleTo = (wanted: number) => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: stored.metadata.name },
    spec: { replicas: wanted },
  });

  test('pass to whoever changes the scale', async () => {
    await client.put(`${path}/scale?fieldManager=scaler`, scaleTo(5));
    const owners = await ownersOf();
    expect(owners).toContainEqual(['scaler', 'Update', 'scale', replicas]);
    expect(owners).toContainEqual(['node', 'Update', undefined, { 'f:spec': { '.': {}, 'f:note': {} } }]);
    await client.patch(`${path}?fieldManager=other`, { spec: { replicas: 6 } });
    expect(await ownersOf()).toContainEqual(['other', 'Update', undefined, replicas]);
    expect((await ownersOf()).map(([manager]) => manager)).not.toContain('scaler');
  });

  test('can be applied: a conflict, then by force', async () => {
    const apply = (more = '') => client.patch(`${path}/scale?fieldManager=me${more}`, scaleTo(7), applyPatch);
    const refused = await apply();
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'Apply failed with 1 conflict: conflict with "node" using autoscaling/v1: .spec.replicas',
    ]);
    const forced = await apply('&force=true');
    expect([forced.status, forced.body.kind, forced.body.spec]).toEqual([200, 'Scale', { replicas: 7 }]);
    expect(await ownersOf()).toContainEqual(['me', 'Apply', 'scale', replicas]);
    const same = await apply();
    expect([same.status, same.body]).toEqual([200, forced.body]);
    expect((await client.patch(`${scalers}/absent/scale?fieldManager=me`, scaleTo(1), applyPatch)).status).toBe(404);
  });
});

function scaler(name: string, spec: Record<string, unknown>) {
  return { apiVersion, kind: 'Scaler', metadata: { name }, spec };
}

const scale = (replicas: unknown, metadata: Record<string, unknown> = {}) => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: stored.metadata.name, ...metadata },
  spec: { replicas },
});

describe('/scale', () => {
  test('shows the replicas of spec and status', async () => {
    const { status, body } = await client.get(`${path}/scale`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: {
        name: stored.metadata.name,
        uid: stored.metadata.uid,
        resourceVersion: stored.metadata.resourceVersion,
        creationTimestamp: stored.metadata.creationTimestamp,
      },
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'a=b' },
    });
  });

  test.each([
    ['PUT', () => client.put(`${path}/scale`, { ...scale(5), status: { replicas: 77 } })],
    [
      'PUT without kind and apiVersion',
      () => client.put(`${path}/scale`, { ...scale(5), kind: undefined, apiVersion: undefined }),
    ],
    ['merge patch', () => client.patch(`${path}/scale`, { spec: { replicas: 5 }, status: { replicas: 77 } })],
    [
      'JSON patch',
      () => client.patch(`${path}/scale`, [{ op: 'replace', path: '/spec/replicas', value: 5 }], jsonPatch),
    ],
  ])('%s changes the spec alone', async (_, write) => {
    const { status, body } = await write();
    expect([status, body.kind, body.spec]).toEqual([200, 'Scale', { replicas: 5 }]);
    const now = await client.get(path);
    expect([now.body.spec, now.body.status, now.body.metadata.generation]).toEqual([
      { replicas: 5, note: 'a' },
      { replicas: 1, selector: 'a=b' },
      2,
    ]);
    expect(body.metadata.resourceVersion).toBe(now.body.metadata.resourceVersion);
  });

  test('of the same replicas is a no-op', async () => {
    expect((await client.put(`${path}/scale`, scale(2))).status).toBe(200);
    expect((await client.get(path)).body).toEqual(stored);
  });

  test('obeys preconditions, and stores nothing in a dry run', async () => {
    expect((await client.put(`${path}/scale`, scale(5, { resourceVersion: '1' }))).status).toBe(409);
    expect(
      (await client.patch(`${path}/scale`, { metadata: { resourceVersion: '1' }, spec: { replicas: 5 } })).status,
    ).toBe(409);
    expect((await client.put(`${path}/scale`, scale(5), { 'if-match': '"1"' })).status).toBe(412);
    expect((await client.put(`${path}/scale?dryRun=All`, scale(5))).body.spec).toEqual({ replicas: 5 });
    expect((await client.get(path)).body).toEqual(stored);
    expect(
      (await client.put(`${path}/scale`, scale(5, { resourceVersion: stored.metadata.resourceVersion }))).status,
    ).toBe(200);
  });

  test.each([-1, 2 ** 31, 1.5, 'five', [], {}])('replicas of %j are a client error', async (replicas) => {
    for (const answer of [
      await client.put(`${path}/scale`, scale(replicas)),
      await client.patch(`${path}/scale`, { spec: { replicas } }),
    ]) {
      expect([400, 422]).toContain(answer.status);
    }
    expect((await client.get(path)).body).toEqual(stored);
  });

  test('can be set, but not read, without replicas in the spec', async () => {
    await client.put(path, scaler(stored.metadata.name, { note: 'a' }));
    const { status, body } = await client.get(`${path}/scale`);
    expect([status >= 400, status < 500]).toEqual([true, true]);
    expect(body.message).toContain('the spec replicas field ".spec.replicas" does not exist');
    expect((await client.put(`${path}/scale`, scale(3))).status).toBe(200);
    expect((await client.get(path)).body.spec).toEqual({ replicas: 3, note: 'a' });
  });

  test('refuses a body of another object', async () => {
    expect((await client.put(`${path}/scale`, { ...scale(5), metadata: { name: 'zz' } })).status).toBe(400);
    expect((await client.put(`${path}/scale`, { ...scale(5), kind: 'Scaler', apiVersion })).status).toBe(400);
    expect((await client.get(`${scalers}/absent/scale`)).status).toBe(404);
    expect((await client.put(`${scalers}/absent/scale`, { ...scale(5), metadata: { name: 'absent' } })).status).toBe(
      404,
    );
  });

  test('refuses other verbs and types', async () => {
    expect((await client.delete(`${path}/scale`)).status).toBe(405);
    expect((await client.post(`${path}/scale`, scale(5))).status).toBe(405);
    expect(
      (await client.patch(`${path}/scale`, {}, { 'content-type': 'application/strategic-merge-patch+json' })).status,
    ).toBe(415);
    expect((await client.get(path)).body).toEqual(stored);
  });

  test('is 404 if the model declares none', async () => {
    await client.post(articles, article('plain'));
    await client.post(reports, report('plain'));
    for (const at of [`${articles}/plain/scale`, `${reports}/plain/scale`]) {
      for (const answer of [
        await client.get(at),
        await client.put(at, scale(1)),
        await client.patch(at, { spec: { replicas: 1 } }),
      ])
        expect(answer.status).toBe(404);
    }
  });
});

test('a status is written though the spec is no longer valid', async () => {
  await client.post(reports, { ...report('old', { size: 9 }) });
  const { body } = await client.get(`${definitions}/reports.contract.example.com`);
  const text = JSON.stringify(body).replace('"maximum":10', '"maximum":5');
  expect((await client.put(`${definitions}/reports.contract.example.com`, text)).status).toBe(200);
  for (
    const end = Date.now() + 10_000;
    (await client.post(`${reports}?dryRun=All`, report('new', { size: 9 }))).status !== 422;
  )
    if (Date.now() > end) throw new Error('The schema does not change.');
  const written = await client.put(`${reports}/old/status`, {
    ...report('old', { size: 9 }),
    status: { phase: 'Set' },
  });
  expect([written.status, written.body.status]).toEqual([200, { phase: 'Set' }]);
  expect((await client.patch(`${reports}/old/status`, { status: { count: 1 } })).status).toBe(200);
});

test('a finalizer without a domain gives a warning', async () => {
  const { status, headers } = await client.post(articles, article('unqualified', {}, { finalizers: ['mine'] }));
  expect([status, headers.get('warning')]).toEqual([201, expect.stringMatching(/^299 - ".*finalizer/)]);
});
