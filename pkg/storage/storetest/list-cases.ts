import { beforeAll, expect, test } from '@jest/globals';
import {
  builtinIndexes,
  compareBySort,
  compileSelector,
  extractIndexKey,
  parseFieldSelector,
  parseLabelSelector,
  parseSort,
  type ApiObject,
  type GroupResource,
  type Selector,
  type Sort,
} from '#pkg/apimachinery/index';
import { decodeBody } from '../body.ts';
import type { ChunkPosition, Store, StoredObject } from '../store.ts';
import type { StorePair } from './store-pair.ts';
import { createOf, resourceOf, sampleModel, sampleObject } from './sample-model.ts';

const model = sampleModel('listed', { namespaced: true });
const resource = resourceOf(model);
const indexes = [...builtinIndexes, ...model.indexes];
const texts = ['', 'a', 'ab', 'abc', 'B', 'ä', '\u{1f600}', '\uffff', 'a,b', '%', '_'];

/** A different object for each number; every field is absent in some objects. */
function objectOf(i: number): ApiObject {
  return sampleObject(`o-${(i * 7919) % 1000}-${i}`, {
    namespace: ['red', 'blue', 'green'][i % 3]!,
    labels: { ...(i % 4 === 0 ? {} : { app: `a${i % 5}` }), ...(i % 3 === 0 ? { 'x.example.com/tier': '' } : {}) },
    created: `2026-01-0${1 + (i % 7)}T00:00:00Z`,
    ...(i % 11 === 0 ? { deleted: '2026-02-01T00:00:00Z' } : {}),
    ...(i % 3 === 1 ? { owners: Array.from({ length: i % 4 }, (_, t) => `u${(i + t) % 7}`) } : {}),
    spec: {
      ...(i % 6 === 0 ? {} : { owner: texts[i % texts.length]! }),
      ...(i % 5 === 0 ? {} : { rank: (i % 9) - 4 }),
      ...(i % 7 === 0 ? { weight: null } : { weight: (i % 13) / 4 }),
      ...(i % 2 === 0 ? {} : { open: i % 3 === 0 }),
      ...(i % 3 === 0 ? {} : { due: `2026-03-0${1 + (i % 5)}T12:00:00.${i % 10}00Z` }),
      tags: Array.from({ length: i % 4 }, (_, t) => `t${(i + t) % 6}`),
    },
  });
}

const count = 300;
const objects = Array.from({ length: count }, (_, i) => objectOf(i));

/** A model without namespaces, with the same objects. */
const wide = sampleModel('listedwide');
const wideObjects = objects.slice(0, 60).map(withoutNamespace);

function withoutNamespace(object: ApiObject): ApiObject {
  const { namespace: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

interface Case {
  labels?: string[];
  fields?: string[];
  sort?: string[];
  namespace?: string;
}

const cases: Case[] = [
  {},
  { namespace: 'red' },
  { namespace: 'none' },
  ...[
    'app=a1',
    'app!=a1',
    'app',
    '!app',
    'app in (a1,a2)',
    'app notin (a1,a2)',
    'x.example.com/tier=',
    'app=a1,x.example.com/tier',
    'app=a1,!x.example.com/tier',
    'nope=1',
    'app=(a3)',
  ].flatMap((label) => [{ labels: [label] }, { labels: [label], namespace: 'blue', sort: ['spec.rank,desc'] }]),
  ...[
    'name=o-0-0',
    'metadata.name^=o-1',
    'metadata.namespace=red',
    'metadata.namespace!=red',
    'metadata.deletionTimestamp',
    '!metadata.deletionTimestamp',
    'metadata.creationTimestamp>2026-01-04T00:00:00Z',
    'spec.owner=a',
    'spec.owner!=a',
    'spec.owner=',
    'spec.owner',
    '!spec.owner',
    'spec.owner^=a',
    'spec.owner^=\uffff',
    'spec.owner>a',
    'spec.owner<=\uffff',
    'spec.owner=(a,B,ä)',
    'spec.owner notin (a,B)',
    'spec.owner=a\\,b',
    'spec.rank>0',
    'spec.rank>=-1,spec.rank<3',
    'spec.rank in (1,2)',
    'spec.weight<1.5',
    'spec.open=true',
    'spec.open!=true',
    'spec.due>=2026-03-02T12:00:00.500Z',
    'spec.tags=t1',
    'spec.tags!=t1',
    'spec.tags=(t1,t2)',
    'spec.tags notin (t1,t2)',
    'spec.tags',
    '!spec.tags',
    'metadata.ownerReferences.uid=u1',
    'metadata.ownerReferences.uid=u1,metadata.ownerReferences.uid=u2,spec.rank>-3',
    'metadata.ownerReferences.uid=',
    'metadata.ownerReferences.uid!=u1',
    'metadata.ownerReferences.uid=(u1,u2)',
    'metadata.ownerReferences.uid notin (u1,u2)',
    'metadata.ownerReferences.uid',
    '!metadata.ownerReferences.uid',
  ].flatMap((field) => [{ fields: [field] }, { fields: [field], sort: ['spec.owner,desc', 'spec.rank'] }]),
  ...indexes
    .filter(({ multi }) => !multi)
    .flatMap(({ name }) => [
      { sort: [name] },
      { sort: [`${name},desc`] },
      { sort: [`${name},desc`], namespace: 'green' },
    ]),
  { sort: ['metadata.name', 'spec.owner,desc'] },
  // The last object of the order has a null: nothing follows it.
  { sort: ['metadata.namespace', 'metadata.name', 'spec.owner,desc'] },
  { sort: ['spec.owner', 'metadata.namespace,desc', 'spec.rank,desc'] },
  { labels: ['app'], fields: ['metadata.ownerReferences.uid=u3'], namespace: 'blue' },
  { fields: ['metadata.ownerReferences.uid in (u3,u4)'], namespace: 'blue', sort: ['spec.rank'] },
  {
    labels: ['app'],
    fields: ['spec.rank>-2', 'spec.tags=t2'],
    sort: ['spec.weight', 'metadata.creationTimestamp,desc'],
  },
];

function parse({ labels = [], fields = [], sort = [] }: Case): { selector: Selector; sort: Sort } {
  return {
    selector: { labels: parseLabelSelector(labels), fields: parseFieldSelector(fields, indexes) },
    sort: parseSort(sort, indexes),
  };
}

/** The expected result, by filtering and sorting in memory. */
function expected(testCase: Case, from: readonly ApiObject[] = objects): string[] {
  const { selector, sort } = parse(testCase);
  const matches = compileSelector(selector);
  return from
    .filter(
      (object) =>
        (testCase.namespace === undefined || object.metadata.namespace === testCase.namespace) && matches(object),
    )
    .map((object) => ({
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name,
      keys: sort.map(({ index }) => extractIndexKey(index, object)),
    }))
    .toSorted(compareBySort(sort))
    .map(({ namespace, name }) => `${namespace}/${name}`);
}

const ids = (items: readonly StoredObject[]): string[] => items.map(({ namespace, name }) => `${namespace}/${name}`);

/** Checks the result of every way to read a list. */
async function expectLists(store: Store, of: GroupResource, testCase: Case, from: readonly ApiObject[]): Promise<void> {
  const wanted = expected(testCase, from);
  const query = { ...parse(testCase), ...(testCase.namespace === undefined ? {} : { namespace: testCase.namespace }) };
  const seen: string[] = [];
  for (let page = 1, more = true; more; page += 1) {
    const answer = await store.page(of, {
      ...query,
      page,
      size: 64,
      exactTotal: page % 2 === 0,
      exactTotalLimit: 10_000,
    });
    expect(answer).toMatchObject({ total: wanted.length, totalIsLowerBound: false });
    seen.push(...ids(answer.items));
    more = answer.hasNext;
  }
  expect(seen).toEqual(wanted);
  expect(await allChunks(store, of, testCase, 37)).toEqual(wanted);
  const stream = await store.stream(of, { ...query, order: 'sort' });
  const streamed: string[] = [];
  for await (const batch of stream.objects) streamed.push(...ids(batch));
  expect(streamed).toEqual(wanted);
}

async function allChunks(store: Store, of: GroupResource, testCase: Case, limit: number): Promise<string[]> {
  const query = {
    ...parse(testCase),
    ...(testCase.namespace === undefined ? {} : { namespace: testCase.namespace }),
    limit,
  };
  const seen: string[] = [];
  let after: ChunkPosition | undefined;
  do {
    const chunk = await store.chunk(of, { ...query, ...(after === undefined ? {} : { after }) });
    expect(chunk.items.length).toBeLessThanOrEqual(limit);
    if (after !== undefined) expect(chunk.revision).toBe(after.revision);
    seen.push(...ids(chunk.items));
    after = chunk.next;
    expect(seen.length).toBeLessThanOrEqual(count);
  } while (after !== undefined);
  return seen;
}

export function listCases(pair: () => StorePair): void {
  beforeAll(async () => {
    const { store } = pair();
    await store.ensureModel(model);
    await Promise.all(objects.map((object) => store.write(createOf(model, object))));
    await store.ensureModel(wide);
    await Promise.all(wideObjects.map((object) => store.write(createOf(wide, object))));
  });

  test.each(cases.map((testCase) => [JSON.stringify(testCase), testCase] as const))(
    'pages, chunks and streams agree with a plain filter and sort: %s',
    (_, testCase) => expectLists(pair().store, resource, testCase, objects),
  );

  const wideCases = cases.filter(({ namespace }) => namespace === undefined);
  test.each(wideCases.map((testCase) => [JSON.stringify(testCase), testCase] as const))(
    'without namespaces too: %s',
    (_, testCase) => expectLists(pair().store, resourceOf(wide), testCase, wideObjects),
  );

  test('a page past the end is empty and has its total', async () => {
    const { store } = pair();
    expect(
      await store.page(resource, { ...parse({}), page: 99, size: 50, exactTotal: false, exactTotalLimit: 10 }),
    ).toMatchObject({ items: [], total: count, hasNext: false });
  });

  test('a total beyond the limit is a lower bound, unless asked for exactly', async () => {
    const { store } = pair();
    const query = { ...parse({ labels: ['app'] }), page: 2, size: 5, exactTotalLimit: 10 };
    const wanted = expected({ labels: ['app'] });
    const bounded = await store.page(resource, { ...query, exactTotal: false });
    expect(bounded).toMatchObject({ total: 10, totalIsLowerBound: true, hasNext: true });
    expect(ids(bounded.items)).toEqual(wanted.slice(5, 10));
    expect(await store.page(resource, { ...query, exactTotal: true })).toMatchObject({
      total: wanted.length,
      totalIsLowerBound: false,
    });
  });

  test.each<[Case, 'Namespaced' | 'Cluster']>([
    [{}, 'Namespaced'],
    [{ labels: ['app'], sort: ['spec.rank,desc'] }, 'Namespaced'],
    [{ namespace: 'red', sort: ['spec.owner'] }, 'Namespaced'],
    [{ fields: ['spec.rank>0'] }, 'Namespaced'],
    [{ sort: ['metadata.namespace,desc', 'spec.weight'] }, 'Namespaced'],
    [{ sort: ['spec.open', 'spec.due,desc', 'metadata.creationTimestamp'] }, 'Namespaced'],
    [{ sort: ['metadata.namespace,desc', 'spec.owner,desc'] }, 'Cluster'],
  ])('chunks are one snapshot, whatever is written between them: %j, %s', async (testCase: Case, scope) => {
    const { store, other } = pair();
    const namespaced = scope === 'Namespaced';
    const churning = sampleModel('churned', { namespaced });
    await store.dropModel(resourceOf(churning));
    await store.ensureModel(churning);
    const initial = Array.from({ length: 80 }, (_, i) => (namespaced ? objectOf(i) : withoutNamespace(objectOf(i))));
    const stored = new Map<string, StoredObject>();
    for (const written of await Promise.all(initial.map((object) => store.write(createOf(churning, object)))))
      stored.set(`${written.namespace}/${written.name}`, written);
    let round = 0;
    const churn = async (): Promise<void> => {
      round += 1;
      for (const [id, from] of [...stored].filter((_, i) => i % 3 === round % 3).slice(0, 8)) {
        const object = decodeBody(from.body, from.revision);
        if (round % 2 === 0) {
          await other.write({ type: 'delete', resource: resourceOf(churning), object, fingerprint: 'f1', from });
          stored.delete(id);
        } else {
          const changed = {
            ...object,
            metadata: { ...object.metadata, labels: { app: 'moved' } },
            spec: { rank: round, owner: 'moved' },
          };
          stored.set(
            id,
            await other.write({
              type: 'update',
              resource: resourceOf(churning),
              object: changed,
              fingerprint: 'f1',
              from,
            }),
          );
        }
      }
      await store.write(
        createOf(
          churning,
          sampleObject(`new-${round}-${JSON.stringify(testCase).length}`, {
            ...(namespaced ? { namespace: 'red' } : {}),
            labels: { app: 'new' },
            spec: { rank: 3 },
          }),
        ),
      );
    };
    const query = {
      ...parse(testCase),
      ...(testCase.namespace === undefined ? {} : { namespace: testCase.namespace }),
      limit: 7,
    };
    const seen: string[] = [];
    for (let after: ChunkPosition | undefined, more = true; more; more = after !== undefined) {
      const chunk = await store.chunk(resourceOf(churning), { ...query, ...(after === undefined ? {} : { after }) });
      seen.push(...ids(chunk.items));
      after = chunk.next;
      await churn();
    }
    expect(seen).toEqual(expected(testCase, initial));
    await store.dropModel(resourceOf(churning));
  });

  test('a chunk without a selector says how many objects remain', async () => {
    const { store } = pair();
    const first = await store.chunk(resource, { ...parse({}), limit: 100 });
    expect(first.remaining).toBe(count - 100);
    const second = await store.chunk(resource, { ...parse({}), limit: 150, after: first.next! });
    expect(second.remaining).toBe(count - 250);
    expect((await store.chunk(resource, { ...parse({ labels: ['app'] }), limit: 10 })).remaining).toBeUndefined();
  });

  test('a stream by revision begins with the oldest write', async () => {
    const { store } = pair();
    const stream = await store.stream(resource, { ...parse({}), order: 'revision' });
    const revisions: number[] = [];
    for await (const batch of stream.objects) revisions.push(...batch.map(({ revision }) => revision));
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
    expect(revisions).toHaveLength(count);
    expect(stream.revision).toBeGreaterThanOrEqual(revisions.at(-1)!);
  });

  test('an unread stream releases its connection when closed', async () => {
    const { store } = pair();
    for (let i = 0; i < 20; i += 1) await (await store.stream(resource, { ...parse({}), order: 'sort' })).close();
  });

  test('totals follow writes, on both replicas', async () => {
    const { store, other } = pair();
    const page = { ...parse({}), page: 1, size: 1, exactTotal: false, exactTotalLimit: 10_000 };
    const extra = await other.write(createOf(model, sampleObject('extra', { namespace: 'red' })));
    for (const replica of [store, other]) expect((await replica.page(resource, page)).total).toBe(count + 1);
    await store.write({
      type: 'delete',
      resource,
      object: decodeBody(extra.body, extra.revision),
      fingerprint: 'f1',
      from: extra,
    });
    for (const replica of [store, other]) {
      expect((await replica.page(resource, page)).total).toBe(count);
      expect((await replica.page(resource, { ...page, namespace: 'red' })).total).toBe(
        expected({ namespace: 'red' }).length,
      );
    }
  });
}
