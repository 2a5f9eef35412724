import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, names, type ContractClient } from './client.ts';
import { article, articles, namespaces, note, notes, notesIn, registerModels, report, reports } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let clients: [ContractClient, ContractClient];
beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  clients = [clientOf(env, 0), clientOf(env, 1)];
  await registerModels(clients[0]);
  for (const end = Date.now() + 10_000; (await clients[1].get(notes)).status !== 200;)
    if (Date.now() > end) throw new Error('The models do not arrive.');
});
afterAll(() => env.stop());

const both = (i: number): ContractClient => clients[i % 2]!;

test('a concurrent deletion and removal of the last finalizer delete the object', async () => {
  for (let i = 0; i < 25; i += 1) {
    const path = `${articles}/ends-${i}`;
    await clients[0].post(articles, article(`ends-${i}`, {}, { finalizers: ['example.com/a', 'example.com/b'] }));
    const remove = { metadata: { finalizers: null } };
    const answers = await Promise.all([
      both(i).delete(path),
      both(i + 1).patch(path, remove),
      both(i).patch(path, { spec: { title: 'x' } }),
    ]);
    expect(answers.slice(0, 2).map(({ status }) => status)).toEqual([200, 200]);
    expect([200, 404]).toContain(answers[2].status);
    expect((await both(i).get(path)).status).toBe(404);
  }
});

test('concurrent removals of single finalizers delete the object exactly once', async () => {
  for (let i = 0; i < 10; i += 1) {
    const path = `${articles}/one-by-one-${i}`;
    const finalizers = ['example.com/a', 'example.com/b', 'example.com/c', 'example.com/d'];
    await clients[0].post(articles, article(`one-by-one-${i}`, {}, { finalizers }));
    await clients[0].delete(path);
    await Promise.all(
      finalizers.map(async (mine, n) => {
        for (;;) {
          const { status, body } = await both(n).get(path);
          if (status === 404) return;
          const at = body.metadata.finalizers?.indexOf(mine) ?? -1;
          if (at < 0) return;
          const patch = [
            { op: 'test', path: `/metadata/finalizers/${at}`, value: mine },
            { op: 'remove', path: `/metadata/finalizers/${at}` },
          ];
          const patched = await both(n).patch(path, patch, jsonPatch);
          expect([200, 404, 409, 422]).toContain(patched.status);
        }
      }),
    );
    expect((await both(i).get(path)).status).toBe(404);
  }
});

test('concurrent increments with optimistic writes are all counted', async () => {
  await clients[0].post(reports, report('counter'));
  await clients[0].put(`${reports}/counter/status`, { ...report('counter'), status: { count: 0 } });
  const increment = async (n: number): Promise<void> => {
    for (let done = 0; done < 10;) {
      const { body } = await both(n).get(`${reports}/counter`);
      const { count } = body.status as { count: number };
      const { status } = await both(n + 1).put(`${reports}/counter/status`, { ...body, status: { count: count + 1 } });
      expect([200, 409]).toContain(status);
      if (status === 200) done += 1;
    }
  };
  await Promise.all(Array.from({ length: 5 }, (_, n) => increment(n)));
  expect((await clients[0].get(`${reports}/counter`)).body.status).toEqual({ count: 50 });
});

test('the total stays exact during creations and deletions on both servers', async () => {
  await clients[0].delete(articles);
  const churn = async (n: number): Promise<void> => {
    for (let i = 0; i < 12; i += 1) {
      const name = `churn-${(n * 5 + i) % 15}`;
      if ((n + i) % 3 === 0) await both(n).delete(`${articles}/${name}`);
      else await both(n).post(articles, article(name));
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, n) => churn(n)));
  for (const client of clients) {
    const { body } = await client.get(articles);
    expect([(await client.get(`${articles}?page=1&size=1`)).body.total, body.total]).toEqual([
      body.items.length,
      body.items.length,
    ]);
    expect(body.items.length).toBeGreaterThan(0);
  }
});

test('a namespace is deleted if it is empty, or waits for its objects and accepts no more', async () => {
  for (let i = 0; i < 15; i += 1) {
    const namespace = `ns-${i}`;
    expect(
      (await clients[0].post(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }))
        .status,
    ).toBe(201);
    const [deleted, ...created] = await Promise.all([
      both(i).delete(`${namespaces}/${namespace}`),
      ...Array.from({ length: 4 }, (_, n) => both(n).post(notesIn(namespace), note(`n-${n}`))),
    ]);
    const left = (await clients[0].get(`${notes}?fieldSelector=metadata.namespace%3D${namespace}`)).body.items.length;
    expect(left).toBe(created.filter(({ status }) => status === 201).length);
    for (const { status } of created) expect([201, 403, 404, 409]).toContain(status);
    expect(deleted.status).toBe(200);
    const found = await both(i + 1).get(`${namespaces}/${namespace}`);
    if (deleted.body.kind === 'Status') expect([left, found.status]).toEqual([0, 404]);
    else
      expect([left > 0, found.body.status, (await both(i).post(notesIn(namespace), note('late'))).status]).toEqual([
        true,
        { phase: 'Terminating' },
        403,
      ]);
  }
});

test('a unique value that two objects exchange is held by one of them at any time', async () => {
  await clients[0].post(articles, article('swap-a', { slug: 'swapped' }));
  await clients[0].post(articles, article('swap-b'));
  const swap = async (n: number): Promise<void> => {
    for (let i = 0; i < 15; i += 1) {
      const { status } = await both(n).patch(`${articles}/swap-${n === 0 ? 'a' : 'b'}`, {
        spec: { slug: i % 2 === 0 ? null : 'swapped' },
      });
      expect([200, 409]).toContain(status);
      expect(names(await both(i).get(`${articles}?fieldSelector=slug%3Dswapped`)).length).toBeLessThanOrEqual(1);
    }
  };
  await Promise.all([swap(0), swap(1)]);
});

test('a name that is repeatedly created and deleted is at most one object, and each watch sees additions and deletions in turn', async () => {
  const { resourceVersion } = (await clients[0].get(articles)).body.metadata;
  await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      for (let i = 0; i < 10; i += 1) {
        expect([201, 409]).toContain((await both(n).post(articles, article('blinks', { priority: n }))).status);
        expect([200, 404]).toContain((await both(n + 1).delete(`${articles}/blinks`)).status);
      }
    }),
  );
  await clients[0].post(articles, article('blinks-last'));
  const events = await watchedUntil(env, articles, { resourceVersion, last: 'blinks-last' });
  const types = events.map(({ type }) => type);
  expect(types).toEqual(types.map((_, i) => (i % 2 === 0 ? 'ADDED' : 'DELETED')));
  for (let i = 0; i + 1 < events.length; i += 2)
    expect(events[i + 1]!.object.metadata.uid).toBe(events[i]!.object.metadata.uid);
  const revisions = events.map(({ object }) => BigInt(object.metadata.resourceVersion));
  expect(revisions).toEqual(revisions.toSorted((a, b) => (a < b ? -1 : 1)));
});
