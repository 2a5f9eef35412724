import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  V1MicroTime,
  VersionApi,
  type KubernetesObject,
  type V1DeleteOptions,
  type V1Lease,
  type V1OwnerReference,
} from '@kubernetes/client-node';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { kubeConfig } from './clients-kube-config.ts';
import { register, type Registered } from './models-definition.ts';

let env: TestEnv;
let notes: Registered;
let custom: CustomObjectsApi;
let core: CoreV1Api;
let coordination: CoordinationV1Api;
let made = 0;

beforeAll(async () => {
  env = await startTestEnv();
  notes = await register(env, {
    kind: 'Note',
    scope: 'Namespaced',
    spec: { type: 'object', properties: { lang: { type: 'string' } } },
    definitionVersion: { selectableFields: [{ jsonPath: '.spec.lang' }] },
  });
  const config = kubeConfig(env.url, env.token);
  custom = config.makeApiClient(CustomObjectsApi);
  core = config.makeApiClient(CoreV1Api);
  coordination = config.makeApiClient(CoordinationV1Api);
});

afterAll(() => env?.stop());

const inDefault = () => ({ group: notes.group, version: 'v1', plural: 'notes', namespace: 'default' });

async function failure(attempt: Promise<unknown>): Promise<{ code: number; reason: string }> {
  try {
    await attempt;
  } catch (error) {
    if (!(error instanceof ApiException)) throw error;
    const body = (typeof error.body === 'string' ? JSON.parse(error.body) : error.body) as { reason: string };
    return { code: error.code, reason: body.reason };
  }
  throw new Error('no failure');
}

async function created(metadata: object = {}, spec: Record<string, unknown> = {}): Promise<KubernetesObject> {
  made += 1;
  const note = notes.object(`note-${made}`, spec);
  const body = { ...note, metadata: { name: `note-${made}`, ...metadata } };
  return (await custom.createNamespacedCustomObject({ ...inDefault(), body })) as KubernetesObject;
}

async function namesOf(selection: { fieldSelector?: string; labelSelector?: string }): Promise<string[]> {
  const list = (await custom.listNamespacedCustomObject({ ...inDefault(), ...selection })) as {
    items: KubernetesObject[];
  };
  return list.items.map(({ metadata }) => metadata!.name!);
}

test('typed clients leave out apiVersion and kind, which the path says', async () => {
  const body = { metadata: { name: 'untyped' }, data: { a: '1' } };
  const written = await core.createNamespacedConfigMap({ namespace: 'default', body });
  expect([written.apiVersion, written.kind]).toEqual(['v1', 'ConfigMap']);
  const at = { namespace: 'default', name: 'untyped' };
  const replaced = await core.replaceNamespacedConfigMap({ ...at, body: { ...body, data: { a: '2' } } });
  expect([replaced.kind, replaced.data]).toEqual(['ConfigMap', { a: '2' }]);
  const ofModel = custom.createNamespacedCustomObject({ ...inDefault(), body: { metadata: { name: 'untyped' } } });
  expect((await failure(ofModel)).code).toBe(400);
});

test('VersionApi: the version that the server speaks like', async () => {
  const version = await kubeConfig(env.url, env.token).makeApiClient(VersionApi).getCode();
  expect(version).toMatchObject({ major: '1', minor: expect.stringMatching(/^\d+$/), gitVersion: expect.any(String) });
  expect(version.gitVersion).toMatch(new RegExp(`^v1\\.${version.minor}\\.`));
});

describe('field selectors', () => {
  test('select by name, and by fields of the model', async () => {
    const first = await created({}, { lang: 'en' });
    const second = await created({}, { lang: 'de' });
    const [a, b] = [first.metadata!.name!, second.metadata!.name!];
    expect(await namesOf({ fieldSelector: `metadata.name=${a}` })).toEqual([a]);
    expect(await namesOf({ fieldSelector: `metadata.name=${a},metadata.namespace=default` })).toEqual([a]);
    expect(await namesOf({ fieldSelector: `metadata.name=${a},metadata.namespace=other` })).toEqual([]);
    expect(await namesOf({ fieldSelector: `metadata.name!=${a}` })).toContain(b);
    expect(await namesOf({ fieldSelector: 'spec.lang==de' })).toEqual([b]);
    const all = (await core.listNamespace({ fieldSelector: 'metadata.name=default' })).items;
    expect(all.map(({ metadata }) => metadata!.name)).toEqual(['default']);
    expect((await core.listNamespace({ fieldSelector: 'status.phase=Terminating' })).items).toEqual([]);
  });
});

describe('deletion', () => {
  test('preconditions in the body: uid and resourceVersion', async () => {
    const note = await created();
    const { name, uid, resourceVersion } = note.metadata!;
    const remove = (body: V1DeleteOptions): Promise<unknown> =>
      custom.deleteNamespacedCustomObject({ ...inDefault(), name: name!, body });
    const conflict = { code: 409, reason: 'Conflict' };
    expect(await failure(remove({ preconditions: { uid: '00000000-0000-0000-0000-000000000000' } }))).toEqual(conflict);
    expect(await failure(remove({ preconditions: { uid: uid!, resourceVersion: '1' } }))).toEqual(conflict);
    expect(await namesOf({ fieldSelector: `metadata.name=${name}` })).toEqual([name]);
    const status = await remove({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: uid!, resourceVersion: resourceVersion! },
    });
    expect(status).toMatchObject({ kind: 'Status', status: 'Success', details: { uid } });
    expect(await namesOf({ fieldSelector: `metadata.name=${name}` })).toEqual([]);
  });

  test('a dry run, in the query and in the body, deletes nothing', async () => {
    const { name } = (await created()).metadata!;
    await custom.deleteNamespacedCustomObject({ ...inDefault(), name: name!, dryRun: 'All' });
    await custom.deleteNamespacedCustomObject({ ...inDefault(), name: name!, body: { dryRun: ['All'] } });
    expect(await namesOf({ fieldSelector: `metadata.name=${name}` })).toEqual([name]);
  });

  /** What a deletion leaves on an owner with a dependent shows the policy that the server took. */
  const policies: { reason: string; options: object; finalizers: string[] | undefined }[] = [
    {
      reason: 'Foreground in the query',
      options: { propagationPolicy: 'Foreground' },
      finalizers: ['foregroundDeletion'],
    },
    { reason: 'Orphan in the query', options: { propagationPolicy: 'Orphan' }, finalizers: ['orphan'] },
    { reason: 'Background in the query', options: { propagationPolicy: 'Background' }, finalizers: undefined },
    { reason: 'orphanDependents in the query', options: { orphanDependents: true }, finalizers: ['orphan'] },
    { reason: 'no orphanDependents in the query', options: { orphanDependents: false }, finalizers: undefined },
    {
      reason: 'Foreground in the body',
      options: { body: { propagationPolicy: 'Foreground' } },
      finalizers: ['foregroundDeletion'],
    },
    { reason: 'Orphan in the body', options: { body: { propagationPolicy: 'Orphan' } }, finalizers: ['orphan'] },
    { reason: 'orphanDependents in the body', options: { body: { orphanDependents: true } }, finalizers: ['orphan'] },
    {
      reason: 'the body before the query',
      options: { propagationPolicy: 'Orphan', body: { propagationPolicy: 'Foreground' } },
      finalizers: ['foregroundDeletion'],
    },
    { reason: 'nothing', options: {}, finalizers: undefined },
  ];

  test.each(policies)('of an owner, with $reason', async ({ options, finalizers }) => {
    const owner = await created();
    const { name, uid } = owner.metadata!;
    const reference: V1OwnerReference = {
      apiVersion: notes.apiVersion,
      kind: 'Note',
      name: name!,
      uid: uid!,
      blockOwnerDeletion: true,
    };
    await created({ ownerReferences: [reference] });
    const answer = (await custom.deleteNamespacedCustomObject({
      ...inDefault(),
      name: name!,
      ...options,
    })) as KubernetesObject;
    if (finalizers === undefined) {
      expect(answer.kind).toBe('Status');
      expect(await namesOf({ fieldSelector: `metadata.name=${name}` })).toEqual([]);
    } else {
      expect(answer.metadata!.finalizers).toEqual(finalizers);
      expect(answer.metadata!.deletionTimestamp).toBeDefined();
    }
  });

  test.each([
    ['an unknown policy', { propagationPolicy: 'Sideways' }, 422],
    ['both forms of a policy', { propagationPolicy: 'Orphan', orphanDependents: true }, 422],
    ['an unknown policy in the body', { body: { propagationPolicy: 'Sideways' } }, 422],
  ])('is refused with %s', async (_reason, options, code) => {
    const { name } = (await created()).metadata!;
    const attempt = custom.deleteNamespacedCustomObject({ ...inDefault(), name: name!, ...options });
    expect((await failure(attempt)).code).toBe(code);
  });

  test('of a collection: by selectors, with a body', async () => {
    await created({ labels: { set: 'one' } });
    const kept = await created({ labels: { set: 'two' } });
    await custom.deleteCollectionNamespacedCustomObject({
      ...inDefault(),
      labelSelector: 'set in (one,two)',
      fieldSelector: `metadata.name!=${kept.metadata!.name}`,
      body: { propagationPolicy: 'Background' },
    });
    expect(await namesOf({ labelSelector: 'set' })).toEqual([kept.metadata!.name]);
  });

  test('by typed clients, which send DeleteOptions of the core group', async () => {
    const { metadata } = await core.createNamespacedConfigMap({
      namespace: 'default',
      body: { metadata: { generateName: 'texts-' }, data: { a: '1' } },
    });
    const at = { namespace: 'default', name: metadata!.name! };
    expect(await failure(core.deleteNamespacedConfigMap({ ...at, body: { preconditions: { uid: 'other' } } }))).toEqual(
      {
        code: 409,
        reason: 'Conflict',
      },
    );
    const status = await core.deleteNamespacedConfigMap({
      ...at,
      gracePeriodSeconds: 0,
      propagationPolicy: 'Foreground',
      body: { preconditions: { uid: metadata!.uid!, resourceVersion: metadata!.resourceVersion! } },
    });
    expect(status.status).toBe('Success');
    expect(await failure(core.readNamespacedConfigMap(at))).toEqual({ code: 404, reason: 'NotFound' });
  });
});

/** The client reads a time with microseconds as text, whatever its types say. */
function timeOf(time: V1MicroTime | undefined): number {
  return new Date(time!).getTime();
}

describe('CoordinationV1Api: leader election by a Lease', () => {
  const at = { namespace: 'default', name: 'leader' };

  /** What a candidate does: it takes the Lease if nobody holds it, or if the holder has not renewed it in time. */
  async function tryAcquire(identity: string, now: Date): Promise<boolean> {
    let lease: V1Lease;
    try {
      lease = await coordination.readNamespacedLease(at);
    } catch (error) {
      if (!(error instanceof ApiException) || error.code !== 404) throw error;
      const spec = {
        holderIdentity: identity,
        leaseDurationSeconds: 15,
        acquireTime: new V1MicroTime(now.getTime()),
        renewTime: new V1MicroTime(now.getTime()),
        leaseTransitions: 0,
      };
      await coordination.createNamespacedLease({
        namespace: at.namespace,
        body: { metadata: { name: at.name }, spec },
      });
      return true;
    }
    const { holderIdentity, renewTime, leaseDurationSeconds, leaseTransitions, acquireTime } = lease.spec!;
    const isHeld = holderIdentity !== undefined && holderIdentity !== '' && holderIdentity !== identity;
    if (isHeld && timeOf(renewTime) + leaseDurationSeconds! * 1000 > now.getTime()) return false;
    const isNew = holderIdentity !== identity;
    lease.spec = {
      leaseDurationSeconds: leaseDurationSeconds!,
      holderIdentity: identity,
      renewTime: new V1MicroTime(now.getTime()),
      acquireTime: isNew ? new V1MicroTime(now.getTime()) : acquireTime!,
      leaseTransitions: leaseTransitions! + (isNew ? 1 : 0),
    };
    try {
      await coordination.replaceNamespacedLease({ ...at, body: lease });
      return true;
    } catch (error) {
      if (error instanceof ApiException && error.code === 409) return false;
      throw error;
    }
  }

  test('one candidate leads, renews, and is followed when it stops', async () => {
    const start = new Date('2030-01-01T00:00:00.123Z');
    const later = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);
    expect(await tryAcquire('a', start)).toBe(true);
    expect(await tryAcquire('b', later(5))).toBe(false);
    expect(await tryAcquire('a', later(10))).toBe(true);
    expect(await tryAcquire('b', later(20))).toBe(false);
    expect(await tryAcquire('b', later(26))).toBe(true);
    const { spec } = await coordination.readNamespacedLease(at);
    expect(spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1, leaseDurationSeconds: 15 });
    expect([timeOf(spec!.acquireTime), timeOf(spec!.renewTime)]).toEqual([later(26).getTime(), later(26).getTime()]);
  });

  test('of candidates that see the same Lease, one wins', async () => {
    const start = new Date('2031-01-01T00:00:00Z');
    const outcomes = await Promise.all(['c', 'd', 'e', 'f'].map((identity) => tryAcquire(identity, start)));
    expect(outcomes.filter((isLeader) => isLeader)).toHaveLength(1);
    const held = await coordination.listNamespacedLease({
      namespace: 'default',
      fieldSelector: 'metadata.name=leader',
    });
    expect(held.items[0]!.spec!.leaseTransitions).toBe(2);
  });
});
