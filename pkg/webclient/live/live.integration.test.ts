import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { definePosts, postType, startTestEnv, type Post, type TestEnv } from '../../testenv/index.ts';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { connect } from '../connect.ts';
import type { Resource } from '../resource/resource.ts';
import { noFaults, NoisyProxy } from '../webclienttest/noisy-proxy.ts';
import { follow } from './follow.ts';
import type { LiveList } from './live-list.ts';
import { live } from './live.ts';

let env: TestEnv;
let posts: Resource<Post>;
beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  await definePosts(env);
  posts = connect({ url: env.url, credential: env.token }).resource(postType);
});
afterAll(() => env.stop());

const titlesOf = (list: LiveList<Post>): (string | undefined)[] => list.current.map(({ spec }) => spec?.title);
const until = (list: LiveList<Post>, isSo: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    const check = (): void => {
      if (!isSo()) return;
      end();
      resolve();
    };
    const end = list.subscribe(check);
    check();
  });

describe('a live list', () => {
  test('has what is stored, and every change', async () => {
    const labels = { test: 'changes' };
    await posts.create({ metadata: { name: 'b', labels }, spec: { title: 'b' } });
    const list = live(posts, { labels });
    expect(list.state).toEqual({ name: 'loading' });
    await list.ready;
    expect(titlesOf(list)).toEqual(['b']);
    await posts.create({ metadata: { name: 'a', labels }, spec: { title: 'a' } });
    await until(list, () => list.current.length === 2);
    expect(titlesOf(list)).toEqual(['a', 'b']);
    expect(list.state).toEqual({ name: 'live' });
    const before = list.current;
    expect(list.current).toBe(before);
    await posts.patch('a', { spec: { title: 'changed' } });
    await until(list, () => titlesOf(list)[0] === 'changed');
    expect(list.current[1]).toBe(before[1]);
    await posts.patch('b', { metadata: { labels: { test: null } } });
    await posts.remove('a');
    await until(list, () => list.current.length === 0);
    list.stop();
    await posts.remove('b');
  });

  test('shares the stream of its connection with others, and its objects with those of the same selection', async () => {
    let streams = 0;
    const counting: typeof fetch = (url, init) => {
      if ((url as string).endsWith('/streams')) streams += 1;
      return fetch(url, init);
    };
    const counted = connect({ url: env.url, credential: env.token, fetch: counting }).resource(postType);
    const labels = { test: 'shared' };
    for (const name of ['c', 'd']) await posts.create({ metadata: { name, labels }, spec: { title: name } });
    const first = live(counted, { labels });
    const second = live(counted, { labels, compare: (a, b) => (a.metadata.name < b.metadata.name ? 1 : -1) });
    await Promise.all([first.ready, second.ready]);
    expect([titlesOf(first), titlesOf(second)]).toEqual([
      ['c', 'd'],
      ['d', 'c'],
    ]);
    await until(first, () => first.state.name === 'live');
    expect(streams).toBe(1);
    first.stop();
    first.stop();
    await posts.remove('c');
    await until(second, () => second.current.length === 1);
    second.stop();
    await posts.remove('d');
  });

  test('says that it is stale while the server is silent or away, and catches up', async () => {
    const labels = { test: 'stale' };
    const proxy = await NoisyProxy.start([env.url], 1, noFaults);
    const noisy = connect({ url: proxy.url, credential: env.token, maxSilenceMs: 300 }).resource(postType);
    const list = live(noisy, { labels });
    await until(list, () => list.state.name === 'live');
    proxy.rates = { ...noFaults, frozen: 1 };
    await posts.create({ metadata: { name: 'e', labels }, spec: { title: 'e' } });
    await until(list, () => list.state.name === 'stale');
    expect(list.state).toEqual({ name: 'stale', staleSince: expect.any(Date) });
    proxy.rates = noFaults;
    await until(list, () => list.state.name === 'live' && list.current.length === 1);
    list.stop();
    await proxy.stop();
    await posts.remove('e');
  });

  test.each([403, 404])('watches by itself where the server refuses streams (%i)', async (status) => {
    let watches = 0;
    const withoutStreams: typeof fetch = (url, init) => {
      if ((url as string).endsWith('/streams')) return Promise.resolve(new Response('{}', { status }));
      if ((url as string).includes('watch=true')) watches += 1;
      return fetch(url, init);
    };
    const old = connect({ url: env.url, credential: env.token, fetch: withoutStreams }).resource(postType);
    const labels = { test: `old-${status}` };
    const list = live(old, { labels });
    await until(list, () => list.state.name === 'live');
    await posts.create({ metadata: { name: 'old', labels }, spec: { title: 'old' } });
    await until(list, () => list.current.length === 1);
    expect(watches).toBe(1);
    list.stop();
    await posts.remove('old');
  });

  test('goes on by a watch where streams are refused later, and tells nothing twice', async () => {
    let isRefused = false;
    const proxy = await NoisyProxy.start([env.url], 1, noFaults);
    const refusing: typeof fetch = (url, init) =>
      isRefused && (url as string).endsWith('/streams')
        ? Promise.resolve(new Response('{}', { status: 403 }))
        : fetch(url, init);
    const noisy = connect({ url: proxy.url, credential: env.token, fetch: refusing }).resource(postType);
    const labels = { test: 'refused' };
    const end = new AbortController();
    const told: string[] = [];
    follow(noisy, {
      labels,
      signal: end.signal,
      onEvents: (events) => told.push(events.map(({ type }) => type).join()),
    });
    await pollUntil(() => told.length === 1);
    await posts.create({ metadata: { name: 'refused', labels }, spec: { title: 'r' } });
    await pollUntil(() => told.length === 2);
    isRefused = true;
    proxy.cutAll();
    await posts.patch('refused', { spec: { title: 'changed' } });
    await pollUntil(() => told.at(-1) === 'MODIFIED');
    await posts.remove('refused');
    await pollUntil(() => told.at(-1) === 'DELETED');
    expect(told).toEqual(['', 'ADDED', 'MODIFIED', 'DELETED']);
    end.abort();
    await proxy.stop();
  });

  test('takes more selections than one stream does', async () => {
    const lists = Array.from({ length: 70 }, (_, i) => live(posts, { labels: { test: 'many', n: String(i) } }));
    await Promise.all(lists.map((list) => until(list, () => list.state.name === 'live')));
    await posts.create({ metadata: { name: 'many', labels: { test: 'many', n: '69' } }, spec: { title: 'm' } });
    await until(lists[69]!, () => lists[69]!.current.length === 1);
    for (const list of lists) list.stop();
    await posts.remove('many');
  });

  test('changes are followed without the objects, and missed ones are told', async () => {
    const labels = { test: 'follow' };
    const { metadata } = await posts.create({ metadata: { name: 'f', labels }, spec: { title: 'f' } });
    const proxy = await NoisyProxy.start([env.url], 1, noFaults);
    const noisy = connect({ url: proxy.url, credential: env.token }).resource(postType);
    const end = new AbortController();
    const told: string[] = [];
    const states: string[] = [];
    const revisions: (string | undefined)[] = [];
    follow(noisy, {
      labels,
      signal: end.signal,
      onEvents: (events, revision) => {
        told.push(events.map((event) => `${event.type} ${'object' in event ? event.object.metadata.name : ''}`).join());
        revisions.push(revision);
      },
      onState: ({ name }) => states.push(name),
    });
    await pollUntil(() => states.at(-1) === 'live');
    expect(told).toEqual(['']);
    await posts.patch('f', { spec: { title: 'changed' } });
    await pollUntil(() => told.at(-1) === 'MODIFIED f');
    expect(Number(revisions[0])).toBeGreaterThanOrEqual(Number(metadata.resourceVersion));
    expect(revisions[1]).toBeUndefined();
    proxy.rates = { ...noFaults, expired: 1 };
    proxy.cutAll();
    await pollUntil(() => told.at(-1) === '');
    expect(states).toContain('catching up');
    proxy.rates = noFaults;
    proxy.cutAll();
    await pollUntil(() => states.at(-1) === 'live');
    await posts.remove('f');
    await pollUntil(() => told.at(-1) === 'DELETED f');
    const count = told.length;
    end.abort();
    follow(noisy, { labels, signal: end.signal, onEvents: () => told.push('after the end') });
    expect(told.length).toBe(count);
    await proxy.stop();
  });

  test('tells why it cannot begin, and tries again', async () => {
    let token = 'wrong';
    const list = live(connect({ url: env.url, credential: () => token }).resource(postType));
    await until(list, () => list.state.name === 'stale');
    expect(list.state).toMatchObject({ failure: { code: 401 } });
    token = env.token;
    await list.ready;
    list.stop();
  });
});
