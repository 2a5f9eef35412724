import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type FieldSelector, type IndexDefinition, type LabelSelector } from '#pkg/apimachinery/index';
import {
  ApiClient,
  pollUntil,
  noSelector,
  Recorder,
  objectRevision,
  writing,
} from '../registry/registrytest/api-client.ts';
import { startReplicas, type ReplicaPair } from '../registry/registrytest/replica-pair.ts';
import { sampleDefinition, samplePost, postDefinition } from '../registry/registrytest/sample-objects.ts';
import type { SharedRepresentation } from '../rest/served-resource.ts';

let pair: ReplicaPair;
let posts: ApiClient;
let others: ApiClient;

const slug: IndexDefinition = {
  name: 'spec.slug',
  path: 'spec.slug',
  type: 'string',
  multi: false,
  unique: true,
  nullable: true,
};
const byName: IndexDefinition = {
  name: 'metadata.name',
  path: 'metadata.name',
  type: 'string',
  multi: false,
  unique: false,
  nullable: false,
};

beforeAll(async () => {
  pair = await startReplicas();
  const definitions = ApiClient.of(pair.one.registry, 'apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  await definitions.create(postDefinition);
  await definitions.create(
    sampleDefinition({ group: 'ns.example.com', plural: 'things', kind: 'Thing', scope: 'Namespaced' }),
  );
  await pair.two.registry.findNewest('blog.example.com', 'v1', 'posts');
  posts = ApiClient.of(pair.one.registry, 'blog.example.com', 'v1', 'posts');
  others = ApiClient.of(pair.two.registry, 'blog.example.com', 'v1', 'posts');
});

afterAll(() => pair?.close());

/** Resolves when both replicas have delivered everything that was committed. */
async function settled(): Promise<void> {
  await Promise.all([pair.one, pair.two].map(({ store }) => store.changes.catchUp()));
}

function cursor(): number {
  return pair.one.store.changes.cursor;
}

describe('events', () => {
  test('both replicas deliver every change once, in order, with its revision and state', async () => {
    const watches = await Promise.all([posts, others].map((client) => client.watch(cursor())));
    const created = await posts.create(samplePost('a'));
    const changed = await others.put(samplePost('a', { title: 'Two' }));
    await posts.delete('a');
    await settled();
    for (const { events, stream } of watches) {
      expect(events.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
      expect(events[0]!.object).toEqual(created);
      expect(events[1]!.object).toEqual(changed);
      expect(events[2]!.object.spec).toEqual(changed.spec);
      expect(objectRevision(events[2]!.object)).toBeGreaterThan(objectRevision(changed));
      expect(stream!.cursor).toBeGreaterThanOrEqual(objectRevision(events[2]!.object));
      stream!.stop();
    }
  });

  test('a selector adds and deletes objects; the deletion shows the old object with the new revision', async () => {
    const labels: LabelSelector = [{ key: 'team', operator: 'In', values: ['red'] }];
    const watch = await posts.watch(cursor(), { labels, fields: [] });
    await posts.create(samplePost('b', { slug: 'b1' }, { labels: { team: 'blue' } }));
    await posts.put(samplePost('b', { slug: 'b2' }, { labels: { team: 'red' } }));
    await posts.put(samplePost('b', { slug: 'b3' }, { labels: { team: 'red' } }));
    const left = await posts.put(samplePost('b', { slug: 'b4' }, { labels: { team: 'blue' } }));
    await posts.delete('b');
    expect(watch.events.map(({ type, object }) => `${type} ${(object.spec as { slug: string }).slug}`)).toEqual([
      'ADDED b2',
      'MODIFIED b3',
      'DELETED b3',
    ]);
    expect(objectRevision(watch.events[2]!.object)).toBe(objectRevision(left));
  });

  test('fields and names select too', async () => {
    const fields: FieldSelector = [{ index: slug, operator: 'Prefix', value: 'yes' }];
    const [bySlug, byItsName] = await Promise.all([
      posts.watch(cursor(), { labels: [], fields }),
      posts.watch(cursor(), { labels: [], fields: [{ index: byName, operator: 'In', values: ['f1'] }] }),
    ]);
    await posts.create(samplePost('f1', { slug: 'no' }));
    await posts.create(samplePost('f2', { slug: 'yes-2' }));
    await posts.delete('f2');
    await posts.delete('f1');
    expect(bySlug.lines()).toEqual(['ADDED f2', 'DELETED f2']);
    expect(byItsName.lines()).toEqual(['ADDED f1', 'DELETED f1']);
  });

  test('a namespace is a filter', async () => {
    const namespaces = ApiClient.of(pair.one.registry, '', 'v1', 'namespaces');
    const things = ApiClient.of(pair.one.registry, 'ns.example.com', 'v1', 'things');
    await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
    const [one, all] = await Promise.all([things.watch(cursor(), noSelector, 'team'), things.watch(cursor())]);
    for (const namespace of ['default', 'team']) {
      await things.create(
        { apiVersion: 'ns.example.com/v1', kind: 'Thing', metadata: { name: `in-${namespace}` }, spec: { title: 'T' } },
        writing(),
        namespace,
      );
    }
    expect([one.lines(), all.lines()]).toEqual([['ADDED in-team'], ['ADDED in-default', 'ADDED in-team']]);
  });

  test('watchers of one version share the object and its encodings', async () => {
    const watches = await Promise.all([posts, posts].map((client) => client.watch(cursor())));
    await posts.create(samplePost('shared'));
    const [one, two] = watches.map(({ events }) => events[0]!.shared);
    let made = 0;
    const make = ({ text }: { text: string }): Buffer => {
      made += 1;
      return Buffer.from(text);
    };
    expect(one!.encoded('json', make)).toBe(two!.encoded('json', make));
    expect([one, made]).toEqual([two, 1]);
  });
});

describe('start', () => {
  test('a watch from any revision gets all changes once and in order, whatever is written meanwhile', async () => {
    const start = cursor();
    await Promise.all(Array.from({ length: 40 }, (_, index) => posts.create(samplePost(`s-${index}`))));
    // The third replica starts now: its memory is empty, and history comes from the log.
    const third = ApiClient.of((await pair.start()).registry, 'blog.example.com', 'v1', 'posts');
    const writes = Promise.all(
      Array.from({ length: 80 }, (_, index) => (index % 2 === 0 ? posts : others).create(samplePost(`t-${index}`))),
    );
    const middle = start + 20;
    const watches = await Promise.all([
      third.watch(start),
      third.watch(middle),
      posts.watch(start),
      others.watch(middle),
    ]);
    await writes;
    await settled();
    await pollUntil(() => watches.every(({ stream }) => stream!.cursor >= cursor()));
    const [all, later, ...same] = watches.map(({ events }) => events.map(({ object }) => objectRevision(object)));
    expect(all).toHaveLength(120);
    expect(all).toEqual(all!.toSorted((a, b) => a - b));
    expect(later).toEqual(all!.filter((revision) => revision > middle));
    expect(same).toEqual([all, later]);
  });

  test('a watch waits for a revision in the near future; one that does not come is 504', async () => {
    const nextRevision = posts.watch(cursor() + 1);
    await posts.create(samplePost('soon'));
    expect((await nextRevision).lines()).toEqual([]);
    const never = await posts.watch(cursor() + 1_000_000).catch((error: unknown) => error);
    expect(isStatusError(never, 'Timeout') && never.details?.causes?.[0]?.reason).toBe('ResourceVersionTooLarge');
  });

  test('a watch from compacted history is 410', async () => {
    const first = await posts.create(samplePost('gone-1'));
    await posts.create(samplePost('gone-2'));
    await pair.one.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 0 });
    const fresh = ApiClient.of((await pair.start()).registry, 'blog.example.com', 'v1', 'posts');
    const old = await fresh.watch(objectRevision(first) - 1).catch((error: unknown) => error);
    if (!isStatusError(old, 'Expired')) throw new Error(`expected 410, found ${String(old)}`);
    expect(old.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
  });

  test('an aborted start ends at once and gets no event', async () => {
    const recorder = new Recorder();
    const signal = AbortSignal.abort();
    const stream = await posts.storage.watch({ selector: noSelector, after: cursor(), sink: recorder, signal });
    await posts.create(samplePost('unheard'));
    stream.stop();
    expect(recorder.events).toEqual([]);
  });
});

describe('faults', () => {
  test('a sink that throws ends, and other sinks still get events', async () => {
    class Thrower extends Recorder {
      override event(type: string, shared: SharedRepresentation): void {
        super.event(type, shared);
        throw new Error('full');
      }
    }
    const throwingSink = new Thrower();
    const after = cursor();
    const failing = await posts.storage.watch({ selector: noSelector, after, sink: throwingSink });
    const watch = await posts.watch(cursor());
    await posts.create(samplePost('fault-1'));
    await posts.create(samplePost('fault-2'));
    expect(watch.lines()).toEqual(['ADDED fault-1', 'ADDED fault-2']);
    expect(throwingSink.lines()).toEqual(['ADDED fault-1']);
    expect(throwingSink.ended).toBeDefined();
    // Its client resumes before the event that it has not got.
    expect(failing.cursor).toBe(after);
  });

  test('a stopped watch gets no event, not even if it stops during one', async () => {
    const watch = await posts.watch(cursor());
    await posts.create(samplePost('stop-1'));
    watch.stream!.stop();
    watch.stream!.stop();
    await posts.create(samplePost('stop-2'));
    expect(watch.lines()).toEqual(['ADDED stop-1']);
    expect(watch.ended).toBeUndefined();
  });
});
