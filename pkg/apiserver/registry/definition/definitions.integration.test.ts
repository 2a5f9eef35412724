import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Client } from 'pg';
import { isStatusError, type Condition, type JsonObject, type StatusError } from '#pkg/apimachinery/index';
import { ApiClient, pollUntil, objectRevision, writing } from '../registrytest/api-client.ts';
import { startReplicas, type Replica, type ReplicaPair } from '../registrytest/replica-pair.ts';
import { sampleDefinition, sampleVersion } from '../registrytest/sample-objects.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';

let pair: ReplicaPair;
let definitions: ApiClient;
let others: ApiClient;

beforeAll(async () => {
  pair = await startReplicas();
  definitions = definitionsOf(pair.one);
  others = definitionsOf(pair.two);
});

afterAll(() => pair?.close());

function definitionsOf({ registry }: Replica): ApiClient {
  return ApiClient.of(registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
}

async function failure(work: Promise<unknown>): Promise<StatusError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isStatusError(error)) throw new Error(`expected a StatusError, found ${String(error)}`);
  return error;
}

function conditions(object: JsonApiObject): Record<string, string> {
  const all = (object.status as unknown as { conditions: { type: string; status: string; reason: string }[] })
    .conditions;
  return Object.fromEntries(all.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

function thing(group: string, name: string, more: JsonObject = {}): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name, ...more }, spec: { title: 'T' } };
}

function things(group: string, replica: Replica = pair.one): ApiClient {
  return ApiClient.of(replica.registry, group, 'v1', 'things');
}

async function define(group: string): Promise<JsonApiObject> {
  return definitions.create(sampleDefinition({ group, plural: 'things', kind: 'Thing' }));
}

describe('registration', () => {
  test('a definition is served when its creation returns, and on another replica after it reads the changes', async () => {
    const created = await definitions.create({
      ...sampleDefinition({ group: 'a.example.com', plural: 'things', kind: 'Thing' }),
      status: { acceptedNames: { plural: 'lies' } },
    });
    expect(conditions(created)).toEqual({
      NamesAccepted: 'True NoConflicts',
      Established: 'True InitialNamesAccepted',
      IndexesReady: 'True Ready',
    });
    expect(created.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    expect(created.status).toMatchObject({
      storedVersions: ['v1'],
      acceptedNames: { plural: 'things', singular: 'thing', listKind: 'ThingList' },
    });
    expect(await things('a.example.com').create(thing('a.example.com', 'x'))).toMatchObject({ spec: { priority: 5 } });
    const found = await pair.two.registry.findNewest('a.example.com', 'v1', 'things');
    expect(await new ApiClient(found!.storage).get('x')).toMatchObject({ spec: { title: 'T' } });
    expect(found!.indexes.map(({ name }) => name)).toContain('spec.slug');
    expect(await pair.two.registry.findNewest('a.example.com', 'v2', 'things')).toBeUndefined();
  });

  test('the generation of the registry changes only when a registration changes', async () => {
    const { generation } = pair.one.registry;
    await things('a.example.com').create(thing('a.example.com', 'y'));
    await definitions.patch('things.a.example.com', (object) => (object.metadata.labels = { a: 'b' }));
    expect(pair.one.registry.generation).toBe(generation);
    await definitions.patch(
      'things.a.example.com',
      (object) => ((object.spec as { names: { shortNames: string[] } }).names.shortNames = ['th']),
    );
    expect(pair.one.registry.generation).toBeGreaterThan(generation);
  });

  test('a version that is not served is not found', async () => {
    await definitions.create(
      sampleDefinition({
        group: 'u.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1'), sampleVersion('v2', { storage: false, served: false })],
      }),
    );
    expect(pair.one.registry.find('u.example.com', 'v2', 'things')).toBeUndefined();
    expect(pair.one.registry.find('u.example.com', 'v1', 'things')).toBeDefined();
  });

  test.each([
    [
      'a wrong name',
      {
        ...sampleDefinition({ group: 'bad.example.com', plural: 'things', kind: 'Thing' }),
        metadata: { name: 'wrong' },
      },
    ],
    [
      'no storage version',
      sampleDefinition({
        group: 'bad.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1', { storage: false })],
      }),
    ],
    [
      'a schema that is not structural',
      sampleDefinition({
        group: 'bad.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1', { schema: { openAPIV3Schema: { type: 'object', properties: { spec: {} } } } })],
      }),
    ],
    [
      'a spec of another type',
      { ...sampleDefinition({ group: 'bad.example.com', plural: 'things', kind: 'Thing' }), spec: [] },
    ],
  ])('refuses %s with 422', async (_reason, body) => {
    expect((await failure(definitions.create(body as JsonObject))).code).toBe(422);
  });

  test('rules that are not enforced cause a warning', async () => {
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', 'x-kubernetes-validations': [{ rule: 'true' }] } },
      },
    };
    const context = writing({ dryRun: true });
    await definitions.create(
      sampleDefinition({
        group: 'cel.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1', { schema, indexes: [] })],
      }),
      context,
    );
    expect(context.warnings).toEqual([
      'x-kubernetes-validations are not enforced yet: they are stored and published for version v1',
    ]);
    expect(pair.one.registry.find('cel.example.com', 'v1', 'things')).toBeUndefined();
  });

  test('an existing definition is 409, and its tables do not change', async () => {
    expect(
      (
        await failure(
          definitions.create(
            sampleDefinition({
              group: 'a.example.com',
              plural: 'things',
              kind: 'Thing',
              versions: [sampleVersion('v1', { indexes: [] })],
            }),
          ),
        )
      ).code,
    ).toBe(409);
    expect(
      (await pair.one.store.indexStates({ group: 'a.example.com', resource: 'things' })).map(({ name }) => name),
    ).toContain('spec.slug');
  });

  test('clients cannot write the conditions of the server, but may write others', async () => {
    const written = await definitions.patch(
      'things.a.example.com',
      (object) =>
        (object.status = {
          conditions: [
            {
              type: 'Established',
              status: 'False',
              reason: 'Lie',
              message: '',
              lastTransitionTime: '2020-01-01T00:00:00Z',
            },
            { type: 'Mine', status: 'True', reason: 'Own', message: '', lastTransitionTime: '2020-01-01T00:00:00Z' },
          ],
        }),
      writing(),
      { subresource: 'status' },
    );
    expect(conditions(written)).toMatchObject({ Established: 'True InitialNamesAccepted', Mine: 'True Own' });
    expect(written.status).toMatchObject({ acceptedNames: { plural: 'things' }, storedVersions: ['v1'] });
    const replaced = await definitions.put(
      sampleDefinition({ group: 'a.example.com', plural: 'things', kind: 'Thing' }),
    );
    expect(replaced.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    expect(conditions(replaced)).toMatchObject({ Mine: 'True Own' });
  });

  test.each([
    ['conditions that are not a list', { conditions: 'x' }, 'status.conditions'],
    ['a condition that is not an object', { conditions: [1] }, 'status.conditions[0]'],
    ['a condition without a status', { conditions: [{ type: 'Mine' }] }, 'status.conditions[0].status'],
    ['a condition whose type is a number', { conditions: [{ type: 1, status: 'True' }] }, 'status.conditions[0].type'],
    ['a status that is not an object', 'x', 'status'],
  ])('a malformed status is refused: %s', async (_reason, status, field) => {
    const before = await definitions.get('things.a.example.com');
    const refused = await failure(
      definitions.patch('things.a.example.com', (object) => (object.status = status as never), writing(), {
        subresource: 'status',
      }),
    );
    expect(refused.code).toBe(422);
    expect(refused.details?.causes?.map((cause) => cause.field)).toContain(field);
    expect(await definitions.get('things.a.example.com')).toEqual(before);
  });

  test('definitions that are created together on both replicas are all served on both', async () => {
    const groups = Array.from({ length: 12 }, (_, index) => `n${index}.example.com`);
    await Promise.all(
      groups.map((group, index) =>
        (index % 2 === 0 ? definitions : others).create(sampleDefinition({ group, plural: 'things', kind: 'Thing' })),
      ),
    );
    for (const { registry } of [pair.one, pair.two])
      for (const group of groups) expect(await registry.findNewest(group, 'v1', 'things')).toBeDefined();
  });

  test('definitions that are created and deleted leave nothing behind', async () => {
    const before = pair.one.registry.models().length;
    const groups = Array.from({ length: 10 }, (_, index) => `gone${index}.example.com`);
    await Promise.all(groups.map(define));
    expect(pair.one.registry.models()).toHaveLength(before + 10);
    await Promise.all(groups.map((group) => definitions.delete(`things.${group}`)));
    await pollUntil(() => pair.one.registry.models().length === before);
    expect((await definitions.names()).filter((name) => name.includes('gone'))).toEqual([]);
  });

  test('a stored definition that cannot be read is not served, and others are', async () => {
    const metadata = {
      name: 'things.broken.example.com',
      uid: randomUUID(),
      creationTimestamp: '2026-01-01T00:00:00Z',
    };
    const status = {
      conditions: [{ type: 'Established', status: 'True', reason: '', message: '', lastTransitionTime: '' }],
    };
    const object = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata,
      spec: { group: 'broken.example.com', names: { kind: 'Thing' }, versions: 7 },
      status,
    };
    const resource = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' };
    await pair.one.store.write({ type: 'create', resource, object, fingerprint: 'other' });
    expect(await pair.two.registry.findNewest('broken.example.com', 'v1', 'things')).toBeUndefined();
    await define('after-broken.example.com');
    expect((await definitions.delete('things.broken.example.com')).deleted).toBe(true);
  });

  test('a new replica serves all definitions at once', async () => {
    const third = await pair.start();
    expect(third.registry.ready).toBe(true);
    expect(await things('a.example.com', third).get('x')).toMatchObject({ kind: 'Thing' });
    expect(third.registry.models().length).toBe(pair.one.registry.models().length);
    await third.registry.stop();
    expect(third.registry.ready).toBe(false);
  });
});

describe('names', () => {
  test('a second definition with the same name is stored, not served, and is served when the first is gone', async () => {
    await definitions.create(sampleDefinition({ group: 'names.example.com', plural: 'firsts', kind: 'Same' }));
    const second = await others.create(
      sampleDefinition({ group: 'names.example.com', plural: 'seconds', kind: 'Same' }),
    );
    expect(conditions(second)).toMatchObject({
      NamesAccepted: 'False SingularConflict',
      Established: 'False NotAccepted',
    });
    expect(JSON.stringify(second.status)).toContain('firsts.names.example.com');
    expect(await pair.one.registry.findNewest('names.example.com', 'v1', 'seconds')).toBeUndefined();
    await definitions.delete('firsts.names.example.com');
    await pollUntil(
      async () => (await pair.one.registry.findNewest('names.example.com', 'v1', 'seconds')) !== undefined,
    );
    expect(conditions(await definitions.get('seconds.names.example.com'))).toMatchObject({
      NamesAccepted: 'True NoConflicts',
      Established: 'True InitialNamesAccepted',
    });
  });

  test('of two that are registered together one is served', async () => {
    const [left, right] = ['lefts', 'rights'].map((plural) =>
      sampleDefinition({ group: 'tie.example.com', plural, kind: 'Tie' }),
    );
    const both = await Promise.all([definitions.create(left!), others.create(right!)]);
    expect(new Set(both.map((each) => conditions(each)['Established']))).toEqual(
      new Set(['False NotAccepted', 'True InitialNamesAccepted']),
    );
  });
});

describe('deletion', () => {
  test('objects are deleted first, with their finalizers, and creates are refused meanwhile', async () => {
    await define('del.example.com');
    const client = things('del.example.com');
    const first = await client.create(thing('del.example.com', 'free'));
    await client.create(thing('del.example.com', 'held', { finalizers: ['example.com/hold'] }));
    const watch = await client.watch(objectRevision(first) - 1);
    const marked = await definitions.delete('things.del.example.com');
    expect(marked.deleted).toBe(false);
    expect(conditions(marked.object)).toMatchObject({ Terminating: 'True InstanceDeletionPending' });
    const refused = await failure(client.create(thing('del.example.com', 'new')));
    expect([refused.code, refused.message]).toEqual([
      403,
      'things.del.example.com "new" is forbidden: create not allowed while custom resource definition is terminating',
    ]);
    expect(pair.one.registry.find('del.example.com', 'v1', 'things')?.terminating).toBe(true);
    // A client cannot remove the server's finalizer.
    expect(
      (await definitions.patch('things.del.example.com', (object) => (object.metadata.finalizers = []))).metadata
        .finalizers,
    ).toHaveLength(1);
    await pollUntil(async () => (await client.names()).join() === 'held');
    await client.patch('held', (object) => (object.metadata.finalizers = []));
    await pollUntil(async () => (await pair.one.registry.findNewest('del.example.com', 'v1', 'things')) === undefined);
    expect(watch.lines().slice(0, 2)).toEqual(['ADDED free', 'ADDED held']);
    expect(watch.lines().slice(2).toSorted()).toEqual(['DELETED free', 'DELETED held', 'MODIFIED held']);
    expect(watch.lines().at(-1)).toBe('DELETED held');
    expect(watch.ended).toBe('this resource is no longer served');
    expect((await failure(client.get('held'))).code).toBe(404);
  });

  test('the condition counts remaining objects and names finalizers; objects of a definition that serves nothing can be read and released on both replicas', async () => {
    await define('unserved.example.com');
    const name = 'things.unserved.example.com';
    const client = things('unserved.example.com');
    for (const [held, finalizers] of [
      ['a', ['example.com/x', 'example.com/y']],
      ['b', ['example.com/x']],
      ['free', []],
    ] as const)
      await client.create(thing('unserved.example.com', held, { finalizers: [...finalizers] }));
    await definitions.patch(name, (object) =>
      (object.spec as { versions: JsonObject[] }).versions.forEach((each) => (each['served'] = false)),
    );
    expect(await pair.two.registry.findNewest('unserved.example.com', 'v1', 'things')).toBeUndefined();
    await definitions.delete(name);
    const terminating = async (): Promise<string> => {
      const { status } = await definitions.get(name);
      const found = (status as { conditions: { type: string; reason: string; message: string }[] }).conditions.find(
        ({ type }) => type === 'Terminating',
      );
      return `${found?.reason}: ${found?.message}`;
    };
    await pollUntil(
      async () =>
        (await terminating()) ===
        'InstanceDeletionInProgress: 2 objects left; finalizers: example.com/x in 2 objects, example.com/y in 1 object',
    );
    const other = new ApiClient((await pair.two.registry.findNewest('unserved.example.com', 'v1', 'things'))!.storage);
    expect([await things('unserved.example.com').names(), await other.names()]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    expect((await failure(other.create(thing('unserved.example.com', 'new')))).code).toBe(403);
    await other.patch('a', (object) => (object.metadata.finalizers = []));
    await pollUntil(
      async () =>
        (await terminating()) === 'InstanceDeletionInProgress: 1 object left; finalizers: example.com/x in 1 object',
    );
    await other.patch('b', (object) => (object.metadata.finalizers = []));
    await pollUntil(async () => (await failure(definitions.get(name)).catch(() => undefined))?.code === 404);
    expect(await pair.two.registry.findNewest('unserved.example.com', 'v1', 'things')).toBeUndefined();
  });

  test('a definition with its own finalizer says that its objects are gone', async () => {
    await define('own.example.com');
    await definitions.patch(
      'things.own.example.com',
      (object) => (object.metadata.finalizers = [...(object.metadata.finalizers ?? []), 'example.com/own']),
    );
    await definitions.delete('things.own.example.com');
    await pollUntil(
      async () =>
        conditions(await definitions.get('things.own.example.com'))['Terminating'] ===
        'False InstanceDeletionCompleted',
    );
    await definitions.patch('things.own.example.com', (object) => (object.metadata.finalizers = []));
  });

  test('a recreated definition starts empty on both replicas', async () => {
    await define('again.example.com');
    await things('again.example.com').create(thing('again.example.com', 'old'));
    expect(
      await new ApiClient((await pair.two.registry.findNewest('again.example.com', 'v1', 'things'))!.storage).names(),
    ).toEqual(['old']);
    await definitions.delete('things.again.example.com');
    await pollUntil(
      async () => (await pair.two.registry.findNewest('again.example.com', 'v1', 'things')) === undefined,
    );
    const recreated = await define('again.example.com');
    const other = new ApiClient((await pair.two.registry.findNewest('again.example.com', 'v1', 'things'))!.storage);
    const watch = await other.watch(objectRevision(recreated));
    expect(await other.names()).toEqual([]);
    const created = await things('again.example.com').create(thing('again.example.com', 'new'));
    await pair.two.store.changes.waitFor(objectRevision(created), 5_000);
    expect(watch.lines()).toEqual(['ADDED new']);
    watch.stream?.stop();
  });

  test('a new server finishes the deletion that another began', async () => {
    await define('left.example.com');
    await things('left.example.com').create(thing('left.example.com', 'x', { finalizers: ['example.com/hold'] }));
    await definitions.delete('things.left.example.com');
    await pair.one.registry.stop();
    await pair.two.registry.stop();
    const fresh = await pair.start();
    await things('left.example.com', fresh).patch('x', (object) => (object.metadata.finalizers = []));
    await pollUntil(async () => (await fresh.registry.findNewest('left.example.com', 'v1', 'things')) === undefined);
    pair.one = fresh;
    pair.two = await pair.start();
    definitions = definitionsOf(pair.one);
    others = definitionsOf(pair.two);
  });
});

describe('change', () => {
  test('takes effect at once, and ends watches of the old form', async () => {
    await define('live.example.com');
    const watch = await things('live.example.com').watch(pair.one.store.changes.cursor);
    const changed = await definitions.patch('things.live.example.com', (object) =>
      (object.spec as { versions: JsonObject[] }).versions.push(sampleVersion('v2', { storage: false })),
    );
    expect(watch.ended).toBe('the definition of this resource was changed');
    expect(changed.metadata.generation).toBe(2);
    expect(pair.one.registry.find('live.example.com', 'v2', 'things')).toBeDefined();
  });

  test('an index added to existing objects is built, and the condition says when it is ready', async () => {
    await definitions.create(
      sampleDefinition({
        group: 'ix.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1', { indexes: [] })],
      }),
    );
    await things('ix.example.com').create(thing('ix.example.com', 'x'));
    await definitions.patch('things.ix.example.com', (object) => {
      const [only] = (object.spec as { versions: JsonObject[] }).versions;
      only!['indexes'] = [{ name: 'spec.title', path: 'spec.title', type: 'string' }];
    });
    await pollUntil(
      async () => conditions(await definitions.get('things.ix.example.com'))['IndexesReady'] === 'True Ready',
    );
    expect(await pair.one.store.indexStates({ group: 'ix.example.com', resource: 'things' })).toEqual([
      { name: 'spec.title', state: 'ready' },
    ]);
  });

  test('the condition tells what a build waits for, from the replica that builds, and no longer changes then', async () => {
    await definitions.create(
      sampleDefinition({
        group: 'wait.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1', { indexes: [] })],
      }),
    );
    await things('wait.example.com').create(thing('wait.example.com', 'x'));
    const ready = async (): Promise<Condition> => {
      const { status } = (await definitions.get('things.wait.example.com')) as { status?: unknown };
      return (status as { conditions: Condition[] }).conditions.find(({ type }) => type === 'IndexesReady')!;
    };
    const reader = new Client(pair.connection);
    await reader.connect();
    const looks = [pair.one, pair.two].map(({ store }) => jest.spyOn(store, 'indexStates'));
    try {
      const { rows } = await reader.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
      await definitions.patch('things.wait.example.com', (object) => {
        const [only] = (object.spec as { versions: JsonObject[] }).versions;
        only!['indexes'] = [{ name: 'spec.title', path: 'spec.title', type: 'string' }];
      });
      const first = await ready();
      expect([first.reason, first.message]).toEqual(['Building', expect.stringMatching(/^being built: spec\.title\b/)]);
      const message = `being built: spec.title (waiting for old snapshots: 1 transaction has to end; one is of the session with pid ${rows[0]!.pid})`;
      await pollUntil(async () => (await ready()).message === message);
      const told = await definitions.get('things.wait.example.com');
      for (const look of looks) look.mockClear();
      await pollUntil(async () => looks.every(({ mock }) => mock.calls.length > 2));
      expect((await definitions.get('things.wait.example.com')).metadata.resourceVersion).toBe(
        told.metadata.resourceVersion,
      );
      expect((await ready()).lastTransitionTime).toBe(first.lastTransitionTime);
    } finally {
      for (const look of looks) look.mockRestore();
      await reader.end();
    }
    await pollUntil(async () => (await ready()).message === 'all indexes are ready');
  });

  test('a unique index that objects violate fails, with its name', async () => {
    await definitions.create(
      sampleDefinition({
        group: 'dup.example.com',
        plural: 'things',
        kind: 'Thing',
        versions: [sampleVersion('v1', { indexes: [] })],
      }),
    );
    for (const name of ['x', 'y']) await things('dup.example.com').create(thing('dup.example.com', name));
    await definitions.patch('things.dup.example.com', (object) => {
      const [only] = (object.spec as { versions: JsonObject[] }).versions;
      only!['indexes'] = [{ name: 'spec.title', path: 'spec.title', type: 'string', unique: true }];
    });
    await pollUntil(
      async () => conditions(await definitions.get('things.dup.example.com'))['IndexesReady'] === 'False BuildFailed',
    );
    expect(JSON.stringify((await definitions.get('things.dup.example.com')).status)).toContain('spec.title');
  });
});

describe('namespaces', () => {
  test('default exists and cannot be deleted; others can be created, and deleted when empty', async () => {
    const namespaces = ApiClient.of(pair.one.registry, '', 'v1', 'namespaces');
    expect((await namespaces.get('default')).status).toEqual({ phase: 'Active' });
    const forbidden = await failure(namespaces.delete('default'));
    expect([forbidden.code, forbidden.message]).toEqual([
      403,
      'namespaces "default" is forbidden: this namespace may not be deleted',
    ]);
    await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
    expect(await pair.two.registry.hasNamespace('team')).toBe(true);
    expect(await pair.two.registry.hasNamespace('nobody')).toBe(false);
    expect(
      (await failure(namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x'.repeat(64) } })))
        .code,
    ).toBe(422);

    await definitions.create(
      sampleDefinition({ group: 'ns.example.com', plural: 'things', kind: 'Thing', scope: 'Namespaced' }),
    );
    const client = things('ns.example.com');
    const created = await client.create(thing('ns.example.com', 'x'), writing(), 'team');
    expect(created.metadata.namespace).toBe('team');
    const absent = await failure(client.create(thing('ns.example.com', 'x'), writing(), 'nobody'));
    expect([absent.code, absent.message]).toEqual([404, 'namespaces "nobody" not found']);
    expect(
      (await failure(client.create(thing('ns.example.com', 'z', { namespace: 'other' }), writing(), 'team'))).code,
    ).toBe(400);
    const { deleted, object } = await namespaces.delete('team');
    expect([deleted, object.metadata.finalizers, object.status]).toEqual([
      false,
      ['kubernetes'],
      { phase: 'Terminating' },
    ]);
    await pair.two.registry.findNewest('ns.example.com', 'v1', 'things');
    // The other replica may not know the deletion yet: it reads the newest changes.
    const late = await failure(
      things('ns.example.com', pair.two).create(thing('ns.example.com', 'late'), writing(), 'team'),
    );
    expect([late.code, late.details?.causes?.[0]?.reason]).toEqual([403, 'NamespaceTerminating']);
    const removeFinalizers = (): Promise<unknown> =>
      namespaces.patch('team', ({ metadata }) => delete metadata.finalizers);
    expect((await failure(removeFinalizers())).code).toBe(409);
    await client.delete('x', writing(), 'team');
    await removeFinalizers();
    expect((await failure(client.create(thing('ns.example.com', 'x'), writing(), 'team'))).code).toBe(404);
  });
});
