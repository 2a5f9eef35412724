import { expect, test } from '@jest/globals';
import type { Plugin } from '#pkg/apis/index';
import { connectedPlugins } from './connected-plugins.ts';

const plugin = (name: string, ...dependencies: string[]): Plugin => ({
  apiVersion: 'plugin.svc.run/v1alpha1',
  kind: 'Plugin',
  metadata: { name },
  spec: { version: '1.0.0', dependencies: Object.fromEntries(dependencies.map((each) => [each, '*'])) },
});

test.each<[string, Plugin[], Record<string, string>]>([
  ['plugins alone', [plugin('b'), plugin('a')], { a: 'a', b: 'b' }],
  ['one that depends on another', [plugin('b'), plugin('a', 'b')], { a: 'a', b: 'a' }],
  [
    'through others',
    [plugin('c', 'b'), plugin('d', 'c'), plugin('b'), plugin('a')],
    { a: 'a', b: 'b', c: 'b', d: 'b' },
  ],
  [
    'two that share a dependency',
    [plugin('x', 'base'), plugin('y', 'base'), plugin('base')],
    { base: 'base', x: 'base', y: 'base' },
  ],
  ['a dependency that is not there', [plugin('a', 'gone'), plugin('b', 'gone')], { a: 'a', b: 'b' }],
  ['a circle', [plugin('a', 'b'), plugin('b', 'a')], { a: 'a', b: 'a' }],
  ['a property name of Object', [plugin('a', 'constructor')], { a: 'a' }],
])('%s', (_case, plugins, groups) => expect(Object.fromEntries(connectedPlugins(plugins))).toEqual(groups));
