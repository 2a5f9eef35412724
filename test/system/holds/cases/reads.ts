import { once, type HoldCase } from '../hold-case.ts';
import type { MeasuredServer } from '../measured-server.ts';
import { collectionOf, create, define, many, members, object, openObject, withSpec } from '../sample-model.ts';

const plural = 'readings';
const collection = collectionOf(plural);
const yaml = { Accept: 'application/yaml' };
const metadata = {
  Accept:
    'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io, application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
};

/** Large objects of each kind, and some for pages. */
const prepare = once(async (server: MeasuredServer) => {
  const known = {
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'integer' } }, added: { type: 'string', default: 'x' } },
  };
  const indexes = { indexes: [{ name: 'kind', path: 'spec.kind', type: 'string' }] };
  await define(server, plural, [
    { schema: withSpec(openObject), extra: indexes },
    { schema: withSpec(known), extra: indexes },
  ]);
  await create(server, plural, object(plural, 'values', { spec: { kind: 'values', list: many(95_000, (i) => i) } }));
  await create(
    server,
    plural,
    object(plural, 'texts', { spec: { kind: 'texts', list: many(45_000, (i) => `text ${i}\nof lines`) } }),
  );
  await create(server, plural, object(plural, 'keys', { spec: { kind: 'keys', ...members(45_000, (i) => i) } }));
  await create(
    server,
    plural,
    object(plural, 'text', { spec: { kind: 'text', text: 'line of a text\n'.repeat(190_000) } }),
  );
  for (const position of many(20, (i) => i))
    await create(
      server,
      plural,
      object(plural, `page${position}`, { spec: { kind: 'page', list: many(60_000, (i) => i) } }),
    );
});

const selections = ['', '?labelSelector=a!%3Db', '?fieldSelector=kind%3Dpage'];

/** Reading large objects: as YAML, as metadata, in another version; and sending them to watchers. */
export function readCases(): HoldCase[] {
  const objects = ['values', 'texts', 'keys', 'text'].flatMap((name): HoldCase[] => [
    { name: `read: object of ${name}`, prepare, requests: () => [get(`${collection}/${name}`)] },
    { name: `read: object of ${name}, as YAML`, prepare, requests: () => [get(`${collection}/${name}`, yaml)] },
    {
      name: `read: object of ${name}, metadata alone`,
      prepare,
      requests: () => [get(`${collection}/${name}`, metadata)],
    },
    {
      name: `read: object of ${name}, in another version`,
      prepare,
      requests: () => [get(`${collectionOf(plural, 'v2')}/${name}`)],
    },
    {
      name: `read: object of ${name}, in another version, as YAML`,
      prepare,
      requests: () => [get(`${collectionOf(plural, 'v2')}/${name}`, yaml)],
    },
  ]);
  const lists = ['', '?limit=500', '?page=1&size=1000'].flatMap((extent): HoldCase[] => [
    { name: `read: list ${extent}`, prepare, requests: () => [get(`${collection}${extent}`)] },
    { name: `read: list ${extent}, as YAML`, prepare, requests: () => [get(`${collection}${extent}`, yaml)] },
    {
      name: `read: list ${extent}, metadata alone`,
      prepare,
      requests: () => [get(`${collection}${extent}`, metadata)],
    },
    {
      name: `read: list ${extent}, in another version`,
      prepare,
      requests: () => [get(`${collectionOf(plural, 'v2')}${extent}`)],
    },
  ]);
  const watches: HoldCase = {
    name: 'read: watches of a large object that changes',
    prepare,
    watches: selections.flatMap((query) =>
      ['v1', 'v2'].flatMap((version) =>
        many(5, () => `${collectionOf(plural, version)}${query === '' ? '?' : `${query}&`}watch=true`),
      ),
    ),
    requests: (round) => [
      {
        method: 'PATCH',
        path: `${collection}/values`,
        body: JSON.stringify({ metadata: { labels: { a: `r${round}` } } }),
        headers: { 'Content-Type': 'application/merge-patch+json' },
      },
      {
        method: 'PATCH',
        path: `${collection}/page0`,
        body: JSON.stringify({ metadata: { labels: { a: `r${round}` } } }),
        headers: { 'Content-Type': 'application/merge-patch+json' },
      },
      get(
        `${collection}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2`,
      ),
      get(
        `${collectionOf(plural, 'v2')}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2`,
      ),
    ],
  };
  const deletion: HoldCase = {
    name: 'read: deletion of all that is large',
    prepare,
    requests: (round) => (round === 0 ? [] : [{ method: 'DELETE', path: `${collection}?fieldSelector=kind%3Dpage` }]),
  };
  return [...objects, ...lists, watches, deletion];
}

function get(
  path: string,
  headers: Record<string, string> = {},
): { method: string; path: string; headers: Record<string, string> } {
  return { method: 'GET', path, headers };
}
