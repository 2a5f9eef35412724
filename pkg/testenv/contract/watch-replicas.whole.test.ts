import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, mergePatch } from './api-call.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';
import { eventRevision, RecordedWatch, type SeenEvent } from './recorded-watch.ts';

const writers = 16;
const roundsEach = 20;

let env: TestEnv;
let posts: Registered;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  posts = await register(env);
});

afterAll(() => env?.stop());

const fingerprint = ({ type, object }: SeenEvent): string =>
  `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`;

const untilNamed = (stream: RecordedWatch, name: string): Promise<RecordedWatch> =>
  stream.until(({ changes }) => changes.at(-1)?.object.metadata.name === name);

/** Creates, changes and deletes on one replica, and returns the revisions in the responses. */
async function write(server: number, writer: number, told: string[]): Promise<void> {
  for (let round = 0; round < roundsEach; round += 1) {
    const name = `w${writer}-${round}`;
    const created = await call(env, posts.path, { server, method: 'POST', body: posts.object(name, { round }) });
    const changed = await call(env, `${posts.path}/${name}`, {
      server,
      method: 'PATCH',
      headers: mergePatch,
      body: { spec: { n: 1 } },
    });
    expect([created.status, changed.status]).toEqual([201, 200]);
    told.push(created.body.metadata.resourceVersion, changed.body.metadata.resourceVersion);
    if (round % 2 === 0)
      expect((await call(env, `${posts.path}/${name}`, { server, method: 'DELETE' })).status).toBe(200);
  }
}

test('every watcher on either replica sees each write of both once, in one order, from any start', async () => {
  const start = (await call(env, posts.path)).body.metadata.resourceVersion;
  const reference = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${start}`, { server: 0 });
  const joined: { from: bigint; stream: RecordedWatch }[] = [];
  const told: string[] = [];
  const writing = new AbortController();
  const join = async (): Promise<void> => {
    while (!writing.signal.aborted && joined.length < 24) {
      const from = told[Math.floor(Math.random() * told.length)] ?? start;
      const stream = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${from}`, {
        server: joined.length % 2,
        sse: joined.length % 3 === 0,
      });
      joined.push({ from: BigInt(from), stream });
      await stream.untilCount(1);
    }
  };
  const joining = join();
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer % 2, writer, told)));
  writing.abort();
  await joining;
  const end = await createOrThrow(env, posts.path, posts.object('the-end'));
  await Promise.all([reference, ...joined.map(({ stream }) => stream)].map((stream) => untilNamed(stream, 'the-end')));
  const sequence = reference.changes.map(fingerprint);
  const revisions = reference.changes.map(eventRevision);
  expect(sequence).toHaveLength(writers * (roundsEach * 2 + roundsEach / 2) + 1);
  expect(revisions.every((revision, i) => i === 0 || revision > revisions[i - 1]!)).toBe(true);
  expect(new Set(revisions).size).toBe(sequence.length);
  for (const revision of told) expect(revisions).toContain(BigInt(revision));
  for (const { from, stream } of joined) {
    expect(stream.changes.map(fingerprint)).toEqual(sequence.slice(revisions.findIndex((revision) => revision > from)));
  }
  expect(revisions.at(-1)).toBe(BigInt(end.metadata.resourceVersion));
  expect(joined.length).toBeGreaterThan(4);
  for (const { stream } of [{ stream: reference }, ...joined]) stream.close();
});

test('a list and a watch after it have no gap while others write', async () => {
  const told: string[] = [];
  const load = Promise.all([100, 101, 102, 103].map((writer) => write(writer % 2, writer, told)));
  const seen: Map<string, string>[] = [];
  const streams: RecordedWatch[] = [];
  for (let i = 0; i < 6; i += 1) {
    const list = await call(env, posts.path, { server: i % 2 });
    const cache = new Map(list.body.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    seen.push(cache);
    streams.push(
      await RecordedWatch.open(env, `${posts.path}?resourceVersion=${list.body.metadata.resourceVersion}`, {
        server: (i + 1) % 2,
      }),
    );
  }
  await load;
  await createOrThrow(env, posts.path, posts.object('last'));
  await Promise.all(streams.map((stream) => untilNamed(stream, 'last')));
  const { body } = await call(env, posts.path, { server: 1 });
  const now = new Map(body.items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
  for (const [i, stream] of streams.entries()) {
    const cache = seen[i]!;
    for (const { type, object } of stream.changes) {
      expect([object.metadata.name, type === 'ADDED']).toEqual([
        object.metadata.name,
        !cache.has(object.metadata.name),
      ]);
      if (type === 'DELETED') cache.delete(object.metadata.name);
      else cache.set(object.metadata.name, object.metadata.resourceVersion);
    }
    expect(cache).toEqual(now);
    stream.close();
  }
});

test('a watch that is repeatedly disconnected and resumed from the last event loses and repeats nothing', async () => {
  const start = (await call(env, posts.path)).body.metadata.resourceVersion;
  const reference = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${start}`);
  const told: string[] = [];
  const load = Promise.all([200, 201, 202, 203].map((writer) => write(writer % 2, writer, told))).then(() =>
    createOrThrow(env, posts.path, posts.object('finish')),
  );
  const collected: SeenEvent[] = [];
  let last = start;
  for (let i = 0; collected.at(-1)?.object.metadata.name !== 'finish'; i += 1) {
    const stream = await RecordedWatch.open(env, posts.path, {
      server: i % 2,
      sse: true,
      headers: { 'last-event-id': last },
    });
    await stream.untilCount(1);
    await stream.until(({ changes }) => changes.length >= 7 || changes.at(-1)?.object.metadata.name === 'finish');
    stream.close();
    collected.push(...stream.changes);
    last = stream.changes.at(-1)!.id!;
  }
  await load;
  await untilNamed(reference, 'finish');
  expect(collected.map(fingerprint)).toEqual(reference.changes.map(fingerprint));
  reference.close();
});
