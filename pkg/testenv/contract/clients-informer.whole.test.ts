import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  CustomObjectsApi,
  makeInformer,
  Watch,
  type KubernetesListObject,
  type KubernetesObject,
} from '@kubernetes/client-node';
import { defaultHandlerOptions } from '#pkg/apiserver/index';
import { CuttingProxy } from '../cutting-proxy.ts';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch } from './api-call.ts';
import { kubeConfig } from './clients-kube-config.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({
    replicas: 2,
    handlers: { watch: { ...defaultHandlerOptions.watch, heartbeatMs: 100, minDurationMs: 300, maxDurationMs: 600 } },
  });
});

afterAll(() => env?.stop());

type Informer = ReturnType<typeof makeInformer>;

function informerOf(posts: Registered, url: string): Informer {
  const config = kubeConfig(url, env.token);
  const api = config.makeApiClient(CustomObjectsApi);
  const list = (): Promise<KubernetesListObject<KubernetesObject>> =>
    api.listClusterCustomObject({ group: posts.group, version: 'v1', plural: 'posts' }) as Promise<
      KubernetesListObject<KubernetesObject>
    >;
  return makeInformer(config, posts.path, list);
}

const versions = (items: readonly KubernetesObject[]): string[] =>
  items.map(({ metadata }) => `${metadata!.name} ${metadata!.resourceVersion}`).toSorted();

async function sameAsServer(informer: Informer, posts: Registered): Promise<void> {
  await retryUntilPasses(async () => {
    const { body } = await call(env, posts.path);
    expect(versions(informer.list())).toEqual(
      body.items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted(),
    );
  });
}

async function change(posts: Registered, round: number): Promise<void> {
  await createOrThrow(env, posts.path, posts.object(`o${round}`));
  await call(env, `${posts.path}/o${round}`, { method: 'PATCH', headers: mergePatch, body: { spec: { round } } });
  if (round % 3 === 0) await call(env, `${posts.path}/o${round}`, { method: 'DELETE', server: 1 });
}

test('an informer stays current while the server ends its watches', async () => {
  const posts = await register(env);
  for (let i = 0; i < 5; i += 1) await change(posts, i);
  const informer = informerOf(posts, env.url);
  const seen: string[] = [];
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, ({ metadata }) => seen.push(`${verb} ${metadata!.name}`));
  let connections = 0;
  informer.on('connect', () => (connections += 1));
  await informer.start();
  for (let i = 5; i < 60; i += 1) await change(posts, i);
  await sameAsServer(informer, posts);
  await retryUntilPasses(() => expect(connections).toBeGreaterThan(1));
  await createOrThrow(env, posts.path, posts.object('late'));
  await sameAsServer(informer, posts);
  expect(seen.filter((line) => line === 'add o7')).toHaveLength(1);
  expect(seen.filter((line) => line === 'delete o9')).toHaveLength(1);
  await informer.stop();
});

test('an informer that restarts after broken connections ends in the right state', async () => {
  const posts = await register(env);
  const { proxy, connection } = await CuttingProxy.start({
    host: '127.0.0.1',
    port: Number(new URL(env.servers[1]!.url).port),
  });
  const informer = informerOf(posts, `http://${connection.host}:${connection.port}`);
  let stopping = false;
  const restarts: Promise<void>[] = [];
  const restart = async (): Promise<void> => {
    if (!stopping) await informer.start().catch(() => restart());
  };
  informer.on('error', () => restarts.push(restart()));
  await informer.start();
  for (let i = 0; i < 40; i += 1) {
    await change(posts, i);
    if (i % 8 === 4) await proxy.cut(1);
  }
  await sameAsServer(informer, posts);
  stopping = true;
  await informer.stop();
  await Promise.all(restarts);
  await proxy.stop();
});

test('an informer whose list is too old lists again', async () => {
  const posts = await register(env);
  await createOrThrow(env, posts.path, posts.object('a'));
  await env.servers[0]!.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 60_000 });
  const config = kubeConfig(env.url, env.token);
  const api = config.makeApiClient(CustomObjectsApi);
  let lists = 0;
  const informer = makeInformer(config, posts.path, async () => {
    const list = (await api.listClusterCustomObject({
      group: posts.group,
      version: 'v1',
      plural: 'posts',
    })) as KubernetesListObject<KubernetesObject>;
    lists += 1;
    // As if the changes after it had been compacted before the watch began.
    return lists === 1 ? { ...list, items: [], metadata: { resourceVersion: '1' } } : list;
  });
  await informer.start();
  await sameAsServer(informer, posts);
  expect(lists).toBe(2);
  await createOrThrow(env, posts.path, posts.object('b'));
  await sameAsServer(informer, posts);
  await informer.stop();
});

test('Watch: events and a done without an error when the server ends it', async () => {
  const posts = await register(env);
  await createOrThrow(env, posts.path, posts.object('a'));
  const seen: string[] = [];
  const ended = await new Promise<unknown>((resolve, reject) => {
    new Watch(kubeConfig(env.url, env.token))
      .watch(
        posts.path,
        { timeoutSeconds: 4 },
        (phase, { metadata }: KubernetesObject) => seen.push(`${phase} ${metadata!.name}`),
        resolve,
      )
      .catch(reject);
  });
  expect([seen, ended ?? undefined]).toEqual([['ADDED a'], undefined]);
});

test('Watch: 410 arrives as an object with code 410', async () => {
  const posts = await register(env);
  await env.servers[0]!.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 60_000 });
  const seen: { phase: string; code: number }[] = [];
  await new Promise<unknown>((resolve, reject) => {
    new Watch(kubeConfig(env.servers[1]!.url, env.token))
      .watch(
        posts.path,
        { resourceVersion: '1' },
        (phase, { code }: { code: number }) => seen.push({ phase, code }),
        resolve,
      )
      .catch(reject);
  });
  expect(seen).toEqual([{ phase: 'ERROR', code: 410 }]);
});
