import { describe, expect, test } from '@jest/globals';
import type { Plugin } from '#pkg/apis/index';
import { dependencyProblem, dependentsOf } from './dependencies.ts';

function plugin(name: string, dependencies?: Record<string, string>, version = '1.0.0'): Plugin {
  return {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name },
    spec: { version, ...(dependencies === undefined ? {} : { dependencies }) },
  };
}

describe('the dependencies of a plugin', () => {
  const cases: { reason: string; of: Plugin; others?: Plugin[]; started?: string[]; problem: string | undefined }[] = [
    { reason: 'nothing', of: plugin('a'), problem: undefined },
    {
      reason: 'a started dependency',
      of: plugin('a', { b: '^1.0.0' }),
      others: [plugin('b')],
      started: ['b'],
      problem: undefined,
    },
    {
      reason: 'a dependency that is not started',
      of: plugin('a', { b: '^1.0.0' }),
      others: [plugin('b')],
      problem: 'waits DependencyNotStarted it waits for: b',
    },
    {
      reason: 'several',
      of: plugin('a', { c: '*', b: '*', d: '*' }),
      others: [plugin('b'), plugin('c'), plugin('d')],
      started: ['c'],
      problem: 'waits DependencyNotStarted it waits for: b, d',
    },
    {
      reason: 'a missing dependency',
      of: plugin('a', { b: '*' }),
      problem: 'fails DependencyMissing it depends on the plugin b (*), which is not there',
    },
    {
      reason: 'another version',
      of: plugin('a', { b: '^2.0.0' }),
      others: [plugin('b')],
      started: ['b'],
      problem:
        'fails DependencyVersionMismatch it depends on the plugin b in version ^2.0.0, which is there in version 1.0.0',
    },
    {
      reason: 'itself',
      of: plugin('a', { b: '*' }),
      others: [plugin('b', { a: '*' })],
      problem: 'fails DependencyCircle these plugins depend on one another in a circle: a -> b -> a',
    },
    {
      reason: 'a property name of Object',
      of: plugin('a', { constructor: '*' }),
      problem: 'fails DependencyMissing it depends on the plugin constructor (*), which is not there',
    },
  ];
  test.each(cases)('$reason', ({ of, others = [], started = [], problem }) => {
    const found = dependencyProblem(of, [of, ...others], (name) => started.includes(name));
    expect(
      found === undefined ? undefined : `${found.isWaiting ? 'waits' : 'fails'} ${found.reason} ${found.message}`,
    ).toBe(problem);
  });
});

test('dependencies are those of the desired spec, not of the earlier one', () => {
  const [before, wanted] = [plugin('a'), plugin('a', { b: '^2.0.0' })];
  expect(dependencyProblem(wanted, [before, plugin('b')], () => true)?.reason).toBe('DependencyVersionMismatch');
});

test('dependents are listed by name', () => {
  expect(
    dependentsOf('b', [plugin('a', { b: '*' }), plugin('b'), plugin('c', { a: '*' }), plugin('d', { a: '*', b: '*' })]),
  ).toEqual(['a', 'd']);
  expect(dependentsOf('toString', [plugin('a', {})])).toEqual([]);
});
