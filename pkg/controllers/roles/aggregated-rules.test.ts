import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ClusterRole, PolicyRule, RoleSelector } from '#pkg/apis/index';
import { aggregatedRules } from './aggregated-rules.ts';

const rule = (resource: string): PolicyRule => ({ apiGroups: ['g'], resources: [resource], verbs: ['get'] });

interface Shape {
  labels?: Record<string, string>;
  /** The resources in its rules. */
  rules?: string[];
  selectors?: RoleSelector[];
}

function roleOf(name: string, { labels, rules = [], selectors }: Shape): ClusterRole {
  const aggregation = selectors === undefined ? {} : { aggregationRule: { clusterRoleSelectors: selectors } };
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    rules: rules.map(rule),
    ...aggregation,
  };
}

function resourcesOf(shapes: Record<string, Shape>): Record<string, string[]> {
  const result = aggregatedRules(Object.entries(shapes).map(([name, shape]) => roleOf(name, shape)));
  return Object.fromEntries(
    Array.from(result, ([name, rules]) => [name, rules.flatMap(({ resources = [] }) => resources)]),
  );
}

const labelled = (key: string): RoleSelector => ({ matchLabels: { [key]: 'true' } });

test.each<[string, Record<string, Shape>, Record<string, string[]>]>([
  ['roles without an aggregation rule are not changed', { a: { rules: ['x'] } }, {}],
  [
    'the union of rules, in the order of role names, each rule once',
    {
      all: { selectors: [labelled('l')] },
      c: { labels: { l: 'true' }, rules: ['x', 'y'] },
      b: { labels: { l: 'true' }, rules: ['z', 'x'] },
      d: { rules: ['no'] },
    },
    { all: ['z', 'x', 'y'] },
  ],
  [
    'a value must be the same',
    { all: { selectors: [labelled('l')] }, a: { labels: { l: 'false' }, rules: ['x'] } },
    { all: [] },
  ],
  [
    'all requirements of one selector must match',
    {
      all: { selectors: [{ matchLabels: { l: 'true', m: 'true' } }, labelled('n')] },
      a: { labels: { l: 'true' }, rules: ['x'] },
      b: { labels: { l: 'true', m: 'true' }, rules: ['y'] },
      c: { labels: { n: 'true' }, rules: ['z'] },
    },
    { all: ['y', 'z'] },
  ],
  [
    'an empty selector matches all roles, and no selector matches none',
    { all: { selectors: [{}] }, none: { selectors: [] }, a: { rules: ['x'] } },
    { all: ['x'], none: [] },
  ],
  [
    'expressions',
    {
      all: {
        selectors: [
          {
            matchExpressions: [
              { key: 'l', operator: 'In', values: ['a', 'b'] },
              { key: 'm', operator: 'DoesNotExist' },
            ],
          },
        ],
      },
      a: { labels: { l: 'a' }, rules: ['x'] },
      b: { labels: { l: 'b', m: '' }, rules: ['y'] },
      c: { labels: { l: 'c' }, rules: ['z'] },
    },
    { all: ['x'] },
  ],
  [
    'a selected role may aggregate others',
    {
      admin: { selectors: [labelled('to-admin')] },
      edit: { labels: { 'to-admin': 'true' }, selectors: [labelled('to-edit')] },
      a: { labels: { 'to-edit': 'true' }, rules: ['x'] },
      b: { labels: { 'to-admin': 'true' }, rules: ['y'] },
    },
    { admin: ['x', 'y'], edit: ['x'] },
  ],
  [
    'the stored rules of an aggregating role do not count',
    {
      all: { rules: ['old'], labels: { l: 'true' }, selectors: [labelled('l')] },
      top: { rules: ['older'], selectors: [labelled('l')] },
      a: { labels: { l: 'true' }, rules: ['x'] },
    },
    { all: ['x'], top: ['x'] },
  ],
  [
    'roles that select each other have the same rules, and none of their own',
    {
      p: { rules: ['old'], labels: { q: 'true' }, selectors: [labelled('p')] },
      q: { rules: ['old'], labels: { p: 'true' }, selectors: [labelled('q')] },
      a: { labels: { p: 'true' }, rules: ['x'] },
    },
    { p: ['x'], q: ['x'] },
  ],
  [
    'a label named like an inherited property',
    { all: { selectors: [labelled('constructor')] }, a: { rules: ['x'] } },
    { all: [] },
  ],
])('%s', (_reason, shapes, expected) => {
  expect(resourcesOf(shapes)).toEqual(expected);
});

test('the rules are those that are reachable from role to role', () => {
  const keys = ['a', 'b', 'c'];
  const shape = fc.record({
    labels: fc.dictionary(fc.constantFrom(...keys), fc.constant('true')),
    rules: fc.array(fc.constantFrom('x', 'y', 'z')),
    selectors: fc.option(fc.array(fc.constantFrom(...keys.map(labelled)), { maxLength: 2 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 8 }), (list) => {
      const shapes = list.map(({ selectors, ...rest }, i) => ({
        name: `r${i}`,
        ...rest,
        ...(selectors === undefined ? {} : { selectors }),
      }));
      const reach = (from: string, visited: Set<string>): string[] => {
        const { selectors, rules } = shapes.find(({ name }) => name === from)!;
        if (visited.has(from)) return [];
        visited.add(from);
        if (selectors === undefined) return rules;
        const wanted = selectors.flatMap(({ matchLabels = {} }) => Object.keys(matchLabels));
        return shapes
          .filter(({ labels, name }) => name !== from && wanted.some((key) => Object.hasOwn(labels, key)))
          .flatMap(({ name }) => reach(name, visited));
      };
      const result = resourcesOf(Object.fromEntries(shapes.map(({ name, ...rest }) => [name, rest])));
      for (const { name, selectors } of shapes) {
        if (selectors === undefined) expect(result[name]).toBeUndefined();
        else expect(result[name]!.toSorted()).toEqual(Array.from(new Set(reach(name, new Set()))).toSorted());
      }
    }),
    { numRuns: 300 },
  );
});
