import { once, type HoldCase } from '../hold-case.ts';
import type { MeasuredServer } from '../measured-server.ts';
import { collectionOf, create, define, many, members, nested, object, openObject, withSpec } from '../sample-model.ts';

const plural = 'patched';
const path = `${collectionOf(plural)}/large`;
const merge = 'application/merge-patch+json';
const json = 'application/json-patch+json';

const prepare = once(async (server: MeasuredServer) => {
  await define(server, plural, [{ schema: withSpec(openObject) }]);
  await create(
    server,
    plural,
    object(plural, 'large', { spec: { list: many(40_000, (i) => i), map: members(20_000, (i) => i) } }),
  );
});

const patches: [name: string, type: string, make: () => unknown][] = [
  ['merge: nothing of a large object', merge, () => ({ spec: { none: null } })],
  [
    'merge: a label of a large object',
    merge,
    () => ({ metadata: { labels: { at: `t${Math.floor(Math.random() * 1e9)}` } } }),
  ],
  ['merge: every field', merge, () => ({ spec: { map: members(19_000, (i) => i + 1) } })],
  [
    'merge: deep',
    merge,
    () => ({ spec: nested<unknown>(95, 1, (inner) => ({ a: inner, ...members(500, () => null) })) }),
  ],
  ['merge: as many nulls as allowed', merge, () => ({ spec: members(49_000, () => null, 'z') })],
  [
    'JSON: ten thousand tests',
    json,
    () => many(10_000, () => ({ op: 'test', path: '/spec/list/39999', value: 39_999 })),
  ],
  ['JSON: tests of the whole', json, () => many(10_000, () => ({ op: 'test', path: '/spec', value: 1 }))],
  [
    'JSON: a test of an equal large value',
    json,
    () => [{ op: 'test', path: '/spec/list', value: many(40_000, (i) => i) }],
  ],
  ['JSON: insertions at the front', json, () => many(10_000, (i) => ({ op: 'add', path: '/spec/list/0', value: i }))],
  ['JSON: removals at the front', json, () => many(10_000, () => ({ op: 'remove', path: '/spec/list/0' }))],
  ['JSON: copies of the whole', json, () => many(1000, (i) => ({ op: 'copy', from: '/spec', path: `/c${i}` }))],
  ['JSON: copies of copies', json, () => many(30, () => ({ op: 'copy', from: '/spec', path: '/spec/c' }))],
  [
    'JSON: moves back and forth',
    json,
    () =>
      many(10_000, (i) => ({
        op: 'move',
        from: i % 2 === 0 ? '/spec/map' : '/spec/m',
        path: i % 2 === 0 ? '/spec/m' : '/spec/map',
      })),
  ],
  [
    'JSON: moves deeper',
    json,
    () => [
      { op: 'add', path: '/spec/d', value: nested<unknown>(80, {}, (inner) => ({ a: inner })) },
      ...many(5000, (i) => ({
        op: 'move',
        from: i % 2 === 0 ? '/spec/map' : '/spec/d/a/a/map',
        path: i % 2 === 0 ? '/spec/d/a/a/map' : '/spec/map',
      })),
    ],
  ],
  [
    'JSON: long pointers',
    json,
    () => many(9000, (i) => ({ op: 'add', path: `/spec/${'p'.repeat(250)}${i}`, value: i })),
  ],
  ['JSON: pointers of many steps', json, () => many(300, () => ({ op: 'test', path: '/a'.repeat(4500), value: 1 }))],
  ['JSON: replacements', json, () => many(10_000, (i) => ({ op: 'replace', path: `/spec/map/k${i}`, value: i }))],
  ['JSON: fields removed one by one', json, () => many(10_000, (i) => ({ op: 'remove', path: `/spec/map/k${i}` }))],
];

/** Patches with the greatest allowed ratio of work to size. */
export function patchCases(): HoldCase[] {
  return patches.map(([name, type, make]) => ({
    name: `patch, ${name}`,
    prepare,
    requests: () => [
      {
        method: 'PATCH',
        path: `${path}${name.startsWith('JSON') ? '?dryRun=All' : ''}`,
        body: JSON.stringify(make()),
        headers: { 'Content-Type': type },
      },
    ],
  }));
}
