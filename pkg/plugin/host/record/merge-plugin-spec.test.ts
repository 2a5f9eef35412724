import { expect, test } from '@jest/globals';
import type { PluginPermission, PluginSpec } from '#pkg/apis/index';
import { mergePluginSpec } from './merge-plugin-spec.ts';

function reading(...resources: string[]): PluginPermission {
  return { apiGroups: ['blog.example.com'], resources, verbs: ['get'] };
}

const spec = (version: string, permissions?: PluginPermission[]): PluginSpec => ({
  version,
  ...(permissions === undefined ? {} : { permissions }),
});

test('a running version keeps its permissions, next to those of the newer version', () => {
  const running = spec('1.0.0', [reading('posts'), reading('tags')]);
  expect(
    mergePluginSpec(running, { ...spec('2.0.0', [reading('tags'), reading('comments')]), requires: '>=1.0.0' }),
  ).toEqual({
    version: '2.0.0',
    requires: '>=1.0.0',
    permissions: [reading('tags'), reading('comments'), reading('posts')],
  });
  expect(mergePluginSpec(running, spec('2.0.0'))).toEqual(spec('2.0.0', [reading('posts'), reading('tags')]));
});

test('if nothing is dropped the spec is that of the files', () => {
  const wider = spec('2.0.0', [
    reading('posts'),
    { verbs: ['get'], resources: ['tags'], apiGroups: ['blog.example.com'] },
  ]);
  expect(mergePluginSpec(spec('1.0.0', [reading('tags')]), wider)).toBe(wider);
  expect(mergePluginSpec(spec('1.0.0'), wider)).toBe(wider);
});

test('if both are more than a Plugin may have, the running version comes first', () => {
  const many = (kind: string): PluginPermission[] => Array.from({ length: 150 }, (_, i) => reading(`${kind}${i}`));
  expect(mergePluginSpec(spec('1.0.0', many('a')), spec('2.0.0', many('b')))).toEqual(spec('2.0.0', many('a')));
});
