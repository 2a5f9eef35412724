import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Fence, JsonObject } from '#pkg/apimachinery/index';
import { decodeBody } from '../body.ts';
import type { IdempotencyKey, Store, StoredObject, Write, StoreWriteOptions } from '../store.ts';
import { createOf, resourceOf, sampleModel, sampleObject, type StoreModel } from './sample-model.ts';
import type { StorePair } from './store-pair.ts';

export const sampleLeaseModel: StoreModel = {
  ...sampleModel('leases', { namespaced: true, indexes: [] }),
  group: 'coordination.k8s.io',
};
const model = sampleModel('fenced');

export function leaseOf(lease: string, spec: JsonObject, namespace = 'default'): Write {
  return createOf(sampleLeaseModel, sampleObject(lease, { namespace, spec }));
}

/** Creates a write that updates or deletes the given object. */
export function next(of: StoreModel, from: StoredObject, spec?: JsonObject): Write {
  const object = decodeBody(from.body, from.revision);
  return {
    type: spec === undefined ? 'delete' : 'update',
    resource: resourceOf(of),
    object: spec === undefined ? object : { ...object, spec },
    fingerprint: 'f1',
    from,
  };
}

const lost = { code: 'FenceLost' };

/** The ways to send a write: alone, or together with others, which uses the general statement. */
const ways: Record<string, (store: Store, write: Write, options: StoreWriteOptions) => Promise<StoredObject>> = {
  alone: (store, write, options) => store.write(write, options),
  'in company': async (store, write, options) => {
    const name = `company-${Math.random()}`;
    const [outcome, neighbour] = await Promise.allSettled([
      store.write(write, options),
      store.write(createOf(model, sampleObject(name))),
    ]);
    expect(neighbour.status).toBe('fulfilled');
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  },
  'with an idempotency key': (store, write, options) =>
    store.write(write, {
      ...options,
      idempotency: { user: 'u', method: 'PUT', path: '/fenced', key: String(Math.random()), bodyHash: 'h' },
    }),
};

export function fenceCases(pair: () => StorePair): void {
  beforeAll(async () => {
    await pair().store.ensureModel(sampleLeaseModel);
    await pair().store.ensureModel(model);
  });

  const held = (lease: string, transitions = 3): Fence => ({ namespace: 'default', lease, transitions });
  let made = 0;
  const newName = (): string => `object-${(made += 1)}`;
  const newLease = async (spec: JsonObject = { holderIdentity: 'me', leaseTransitions: 3 }): Promise<StoredObject> =>
    pair().store.write(leaseOf(`lease-${(made += 1)}`, spec));

  /** One prepared write of each kind. */
  async function writes(): Promise<Write[]> {
    const { store } = pair();
    const [changed, removed] = await Promise.all(
      [newName(), newName()].map((name) => store.write(createOf(model, sampleObject(name)))),
    );
    return [createOf(model, sampleObject(newName())), next(model, changed!, { by: 'leader' }), next(model, removed!)];
  }

  describe.each(Object.keys(ways))('%s', (way) => {
    const run = ways[way]!;

    test('every kind of write succeeds while the lease is held', async () => {
      const { store, other } = pair();
      const { name } = await newLease();
      for (const [i, write] of (await writes()).entries()) {
        const { revision } = await run(i % 2 === 0 ? store : other, write, { fence: held(name) });
        expect(revision).toBeGreaterThan(0);
        const stored = await store.get(resourceOf(model), { namespace: '', name: write.object.metadata.name });
        expect(stored?.revision).toBe(write.type === 'delete' ? undefined : revision);
      }
    });

    test.each<[string, (lease: StoredObject) => Promise<unknown>, Partial<Fence>]>([
      [
        'the lease has changed hands',
        (lease) => pair().other.write(next(sampleLeaseModel, lease, { holderIdentity: 'other', leaseTransitions: 4 })),
        {},
      ],
      [
        'the lease has changed hands and back',
        (lease) => pair().other.write(next(sampleLeaseModel, lease, { holderIdentity: 'me', leaseTransitions: 5 })),
        {},
      ],
      [
        'nobody holds it any more',
        (lease) => pair().store.write(next(sampleLeaseModel, lease, { holderIdentity: '', leaseTransitions: 3 })),
        {},
      ],
      ['it names no holder', (lease) => pair().store.write(next(sampleLeaseModel, lease, { leaseTransitions: 3 })), {}],
      [
        'its holder is null',
        (lease) => pair().store.write(next(sampleLeaseModel, lease, { holderIdentity: null, leaseTransitions: 3 })),
        {},
      ],
      ['it has no spec', (lease) => pair().store.write(next(sampleLeaseModel, lease, {})), {}],
      ['it was deleted', (lease) => pair().other.write(next(sampleLeaseModel, lease)), {}],
      ['the number is higher than that of the lease', async () => {}, { transitions: 4 }],
      ['the lease does not exist', async () => {}, { lease: 'absent' }],
      ['the lease is in another namespace', async () => {}, { namespace: 'elsewhere' }],
    ])('no kind of write succeeds if %s', async (_case, lose, fence) => {
      const { store, other } = pair();
      const lease = await newLease();
      const ready = await writes();
      await lose(lease);
      const present = await Promise.all(
        ready.map(({ object }) => store.get(resourceOf(model), { namespace: '', name: object.metadata.name })),
      );
      for (const [i, write] of ready.entries())
        await expect(
          run(i % 2 === 0 ? store : other, write, { fence: { ...held(lease.name), ...fence } }),
        ).rejects.toMatchObject(lost);
      expect(
        await Promise.all(
          ready.map(({ object }) => store.get(resourceOf(model), { namespace: '', name: object.metadata.name })),
        ),
      ).toEqual(present);
    });

    test('a recreated lease fences by its own number', async () => {
      const { store } = pair();
      const lease = await newLease();
      await store.write(next(sampleLeaseModel, lease));
      await store.write(leaseOf(lease.name, { holderIdentity: 'me', leaseTransitions: 4 }));
      for (const write of await writes()) {
        await expect(run(store, write, { fence: held(lease.name, 3) })).rejects.toMatchObject(lost);
        await run(store, write, { fence: held(lease.name, 4) });
      }
    });

    test('a lease without a number has changed hands 0 times', async () => {
      const { store } = pair();
      for (const spec of [{ holderIdentity: 'me' }, { holderIdentity: 'me', leaseTransitions: null }]) {
        const { name } = await newLease(spec);
        await run(store, createOf(model, sampleObject(newName())), { fence: held(name, 0) });
        await expect(
          run(store, createOf(model, sampleObject(newName())), { fence: held(name, 1) }),
        ).rejects.toMatchObject(lost);
      }
    });
  });

  test('names the lost lease', async () => {
    const { name } = await newLease();
    await expect(
      pair().store.write(createOf(model, sampleObject(newName())), { fence: held(name, 2) }),
    ).rejects.toMatchObject({
      message: `the lease default/${name} is no longer held after 2 transitions: another leads, or nobody does`,
    });
  });

  test('a dry run finds the fence lost, and writes nothing while it holds', async () => {
    const { store } = pair();
    const { name } = await newLease();
    const ready = await writes();
    const before = await store.changes.catchUp();
    for (const write of ready) {
      await store.write(write, { dryRun: true, fence: held(name) });
      await expect(store.write(write, { dryRun: true, fence: held(name, 2) })).rejects.toMatchObject(lost);
    }
    expect(await store.changes.catchUp()).toBe(before);
  });

  test('writes of one batch with other fences, without one, or with errors each have their own outcome', async () => {
    const { store } = pair();
    const [first, second] = await Promise.all([newLease(), newLease()]);
    const stale = await store.write(createOf(model, sampleObject(newName())));
    await store.write(next(model, stale, { by: 'another' }));
    const fences = [held(first.name), held(first.name, 2), undefined, held(second.name), held(second.name, 9)];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => {
        const fence = fences[i % fences.length];
        return store.write(createOf(model, sampleObject(newName())), fence === undefined ? {} : { fence });
      }).concat([
        store.write(next(model, stale, { late: 'yes' }), { fence: held(first.name) }),
        store.write(createOf(model, sampleObject(stale.name)), { fence: held(first.name) }),
      ]),
    );
    const codes = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'done',
    );
    expect(codes.slice(0, 50)).toEqual(
      Array.from({ length: 50 }, (_, i) => ['done', 'FenceLost', 'done', 'done', 'FenceLost'][i % 5]),
    );
    expect(codes.slice(50)).toEqual(['Conflict', 'AlreadyExists']);
  });

  test('of writes sent together with the write that hands the lease over, only those before it succeed', async () => {
    const { store } = pair();
    for (let round = 0; round < 10; round += 1) {
      const lease = await newLease();
      const create = (): Promise<StoredObject> =>
        store.write(createOf(model, sampleObject(newName())), { fence: held(lease.name) });
      const early = Array.from({ length: 5 }, create);
      const passed = store.write(next(sampleLeaseModel, lease, { holderIdentity: 'other', leaseTransitions: 4 }));
      const late = Array.from({ length: 5 }, create);
      const { revision } = await passed;
      for (const outcome of await Promise.allSettled(early)) expect(outcome).toMatchObject({ status: 'fulfilled' });
      for (const stored of await Promise.all(early)) expect(stored.revision).toBeLessThan(revision);
      for (const outcome of await Promise.allSettled(late))
        expect(outcome).toMatchObject({ status: 'rejected', reason: lost });
    }
  });

  test('a leader may write its own lease with its fence', async () => {
    const { store } = pair();
    const lease = await newLease();
    const renewed = await store.write(
      next(sampleLeaseModel, lease, { holderIdentity: 'me', leaseTransitions: 3, renewTime: 'later' }),
      { fence: held(lease.name) },
    );
    await store.write(createOf(model, sampleObject(newName())), { fence: held(lease.name) });
    await expect(
      store.write(next(sampleLeaseModel, renewed, { holderIdentity: 'me', leaseTransitions: 3 }), {
        fence: held(lease.name, 2),
      }),
    ).rejects.toMatchObject(lost);
  });

  test('a write whose fence is lost does not use up its idempotency key', async () => {
    const { store, other } = pair();
    const { name } = await newLease();
    const idempotency: IdempotencyKey = { user: 'u', method: 'POST', path: '/p', key: 'fenced', bodyHash: 'h' };
    const write = createOf(model, sampleObject(newName()));
    await expect(store.write(write, { idempotency, fence: held(name, 2) })).rejects.toMatchObject(lost);
    expect(await other.findRememberedWrite(idempotency)).toBeUndefined();
    const object = await store.write(write, { idempotency, fence: held(name) });
    expect(await other.findRememberedWrite(idempotency)).toEqual({ bodyHash: 'h', type: 'create', object });
  });
}
