import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { definePosts, postType, startTestEnv, type Post, type TestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import { follow } from '../live/follow.ts';
import type { LiveList } from '../live/live-list.ts';
import { live } from '../live/live.ts';
import type { Resource } from '../resource/resource.ts';
import { fetchAs, sessionFetch, TestWorker } from '../webclienttest/worker-session.ts';
import { sharedWorkerFeeds } from './shared-worker-feeds.ts';

let env: TestEnv;
let posts: Resource<Post>;
let tokens: Map<string, string>;
beforeAll(async () => {
  env = await startTestEnv({ replicas: 1 });
  await definePosts(env);
  posts = connect({ url: env.url, credential: env.token }).resource(postType);
  tokens = new Map([['admin', env.token]]);
});
afterAll(() => env.stop());

/** A worker that notes what it asks, and pages of it. */
function startTabs(): {
  worker: TestWorker;
  asked: string[];
  open: (session?: string) => Promise<Resource<Post>>;
} {
  const asked: string[] = [];
  const send = fetchAs(tokens);
  const worker = new TestWorker({
    fetch: (url, init) => {
      asked.push(`${init?.method ?? 'GET'} ${new URL(url).pathname.split('/').at(-1)}`);
      return send(url, init);
    },
  });
  const open = async (session = 'admin'): Promise<Resource<Post>> => {
    const server = connect({
      url: env.url,
      feeds: sharedWorkerFeeds(worker.open),
      fetch: sessionFetch(tokens, session),
    });
    await server.currentSession();
    return server.resource(postType);
  };
  return { worker, asked, open };
}

const titlesOf = (list: LiveList<Post>): (string | undefined)[] => list.current.map(({ spec }) => spec?.title);

describe('a worker', () => {
  test('lists and follows once for all tabs, and gives a later one what it has', async () => {
    const { worker, asked, open } = startTabs();
    const labels = { test: 'tabs' };
    for (let i = 0; i < 3; i += 1)
      await posts.create({ metadata: { name: `t${i}`, labels }, spec: { title: String(i) } });
    const [one, two] = [live(await open(), { labels }), live(await open(), { labels })];
    await pollUntil(() => one.state.name === 'live' && two.state.name === 'live');
    expect([titlesOf(one), titlesOf(two)]).toEqual([
      ['0', '1', '2'],
      ['0', '1', '2'],
    ]);
    const told: string[] = [];
    const end = new AbortController();
    follow(await open(), {
      labels,
      signal: end.signal,
      onEvents: (events) => told.push(events.map(({ type }) => type).join()),
    });
    await pollUntil(() => told.length === 1);
    await posts.patch('t0', { spec: { title: 'changed' } });
    await posts.remove('t2');
    for (const list of [one, two]) await pollUntil(() => titlesOf(list).join() === 'changed,1');
    await pollUntil(() => told.join().endsWith('MODIFIED,DELETED'));
    const before = asked.length;
    const late = live(await open(), { labels });
    await late.ready;
    expect(titlesOf(late)).toEqual(['changed', '1']);
    expect(asked.length).toBe(before);
    expect(asked.filter((text) => text === 'GET posts').length).toBe(2);

    for (const list of [one, two, late]) list.stop();
    end.abort();
    await pollUntil(() => worker.feeds.size === 0);
    for (const name of ['t0', 't1']) await posts.remove(name);
    worker.stop();
  });

  test('gives a list of any length in pieces, and the changes meanwhile after it', async () => {
    const { worker, open } = startTabs();
    const labels = { test: 'long' };
    const names = Array.from({ length: 550 }, (_, i) => `long-${i}`);
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(
        names.slice(at, at + 50).map((name) => posts.create({ metadata: { name, labels }, spec: { title: 'x' } })),
      );
    const list = live(await open(), { labels });
    const other = live(await open(), { labels });
    await list.ready;
    await posts.remove('long-5');
    await pollUntil(() => list.current.length === 549 && other.current.length === 549);
    list.stop();
    other.stop();
    worker.stop();
  });

  test('asks as each session, and never gives one what another may see', async () => {
    const { worker, asked, open } = startTabs();
    const labels = { test: 'sessions' };
    await posts.create({ metadata: { name: 's', labels }, spec: { title: 'secret' } });
    const mine = live(await open(), { labels });
    await mine.ready;
    const before = asked.length;
    const theirs = live(await open('stranger'), { labels });
    await pollUntil(() => theirs.state.name === 'stale');
    expect(theirs.state).toMatchObject({ failure: { code: 401 } });
    expect(theirs.current).toEqual([]);
    expect(asked.length).toBeGreaterThan(before);
    tokens.set('stranger', env.token);
    await pollUntil(() => titlesOf(theirs)[0] === 'secret');
    mine.stop();
    theirs.stop();
    await pollUntil(() => worker.feeds.size === 0);
    await posts.remove('s');
    worker.stop();
  });

  test.each([
    ['of another version', (worker: TestWorker) => () => worker.openOther('svc feeds 0')],
    [
      'that does not load',
      () => () => {
        throw new ReferenceError('SharedWorker is not defined');
      },
    ],
  ])('%s is not used: the page follows by itself', async (_reason, opener) => {
    const worker = new TestWorker({});
    const labels = { test: 'alone' };
    const server = connect({
      url: env.url,
      feeds: sharedWorkerFeeds(opener(worker)),
      fetch: sessionFetch(tokens, 'admin'),
    });
    await server.currentSession();
    const list = live(server.resource(postType), { labels });
    await pollUntil(() => list.state.name === 'live');
    await posts.create({ metadata: { name: 'alone', labels }, spec: { title: 'alone' } });
    await pollUntil(() => list.current.length === 1);
    list.stop();
    await posts.remove('alone');
    worker.stop();
  });
});
