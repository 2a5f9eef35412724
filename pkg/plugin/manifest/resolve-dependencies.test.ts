import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkRequires } from './check-requires.ts';
import { resolveDependencies, type DependentPlugin } from './resolve-dependencies.ts';

function plugin(name: string, dependencies: Record<string, string> = {}, version = '1.0.0'): DependentPlugin {
  return { name, version, dependencies };
}

describe('resolveDependencies', () => {
  const any = (...names: string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, '*']));
  const cases: [string, DependentPlugin[], string[], Record<string, string>][] = [
    ['nothing', [], [], {}],
    ['by name, without dependencies', [plugin('b'), plugin('a')], ['a', 'b'], {}],
    ['each after its dependencies', [plugin('a', any('c')), plugin('b', any('a')), plugin('c')], ['c', 'a', 'b'], {}],
    [
      'a diamond',
      [plugin('a', any('b', 'c')), plugin('b', any('d')), plugin('c', any('d')), plugin('d')],
      ['d', 'b', 'c', 'a'],
      {},
    ],
    [
      'a missing dependency',
      [plugin('a', any('x')), plugin('b')],
      ['b'],
      { a: 'DependencyMissing: it depends on the plugin x (*), which is not there' },
    ],
    [
      'another version',
      [plugin('a', { b: '^2.0.0' }), plugin('b')],
      ['b'],
      { a: 'DependencyVersionMismatch: it depends on the plugin b in version ^2.0.0, which is there in version 1.0.0' },
    ],
    ['a pre-release instead', [plugin('a', { b: '>=1.0.0' }), plugin('b', {}, '1.1.0-rc.1')], ['b', 'a'], {}],
    [
      'a dependency on a broken plugin',
      [plugin('a', any('b')), plugin('b', any('x'))],
      [],
      {
        a: 'DependencyFailed: it depends on the plugin b, which cannot be started: it depends on the plugin x (*), which is not there',
        b: 'DependencyMissing: it depends on the plugin x (*), which is not there',
      },
    ],
    [
      'a cycle, named completely',
      [plugin('b', any('c')), plugin('a', any('b')), plugin('c', any('a')), plugin('d', any('c')), plugin('e')],
      ['e'],
      {
        a: 'DependencyCircle: these plugins depend on one another in a circle: a -> b -> c -> a',
        b: 'DependencyCircle: these plugins depend on one another in a circle: a -> b -> c -> a',
        c: 'DependencyCircle: these plugins depend on one another in a circle: a -> b -> c -> a',
        d: 'DependencyFailed: it depends on the plugin c, which cannot be started: these plugins depend on one another in a circle: a -> b -> c -> a',
      },
    ],
    [
      'a dependency on itself',
      [plugin('a', any('a'))],
      [],
      { a: 'DependencyCircle: these plugins depend on one another in a circle: a -> a' },
    ],
    [
      'two circles',
      [plugin('a', any('b')), plugin('b', any('a')), plugin('c', any('d')), plugin('d', any('c'))],
      [],
      {
        a: 'DependencyCircle: these plugins depend on one another in a circle: a -> b -> a',
        b: 'DependencyCircle: these plugins depend on one another in a circle: a -> b -> a',
        c: 'DependencyCircle: these plugins depend on one another in a circle: c -> d -> c',
        d: 'DependencyCircle: these plugins depend on one another in a circle: c -> d -> c',
      },
    ],
  ];
  test.each(cases)('%s', (_case, plugins, order, problems) => {
    const resolved = resolveDependencies(plugins);
    expect(resolved.order).toEqual(order);
    expect(
      Object.fromEntries([...resolved.problems].map(([name, { reason, message }]) => [name, `${reason}: ${message}`])),
    ).toEqual(problems);
    expect(resolveDependencies(plugins.toReversed()).order).toEqual(order);
  });

  test('every plugin comes after its dependencies, or has a problem', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'x');
    const graph = fc.uniqueArray(
      fc.record({
        name,
        version: fc.constantFrom('1.0.0', '2.0.0'),
        dependencies: fc.dictionary(name, fc.constantFrom('*', '^1.0.0'), { maxKeys: 3 }),
      }),
      { selector: (each) => each.name },
    );
    fc.assert(
      fc.property(graph, (plugins) => {
        const { order, problems } = resolveDependencies(plugins);
        expect([...order, ...problems.keys()].toSorted()).toEqual(plugins.map((each) => each.name).toSorted());
        for (const each of plugins) {
          const at = order.indexOf(each.name);
          if (at >= 0)
            for (const dependency of Object.keys(each.dependencies)) expect(order.slice(0, at)).toContain(dependency);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a long chain is resolved', () => {
    const plugins = Array.from({ length: 2000 }, (_, i) => plugin(`p${i}`, i === 0 ? {} : { [`p${i - 1}`]: '*' }));
    expect(resolveDependencies(plugins).order).toHaveLength(2000);
  });
});

test.each([
  [undefined, '2.22.0', true],
  ['>=2.20.0', '2.22.0', true],
  ['>=2.22.0', '2.22.0-rc.1', false],
  ['>=2.22.0', '2.22.0+1ebebde0a1b2.dirty', true],
  ['>=2.22.1', '2.22.0+1ebebde0a1b2', false],
  ['>=2.20.0', '2.22.0-rc.1', true],
  ['^3.0.0', '2.22.0', false],
  ['*', '2.22.0', true],
])('requires %s on %s', (requires, version, fits) => {
  const check = (): void => checkRequires(requires, version);
  if (fits) check();
  else expect(check).toThrow(`spec.requires is ${requires}, and this is version ${version} of the platform`);
});
