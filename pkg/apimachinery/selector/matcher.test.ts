import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ApiObject } from '../meta/object.ts';
import { builtinIndexes, type IndexDefinition, type IndexKey, type IndexValue } from '../scheme/index-definition.ts';
import { parseFieldSelector } from './field-selector.ts';
import { parseLabelSelector } from './label-selector.ts';
import { compileSelector, matchesFields, matchesLabels } from './matcher.ts';
import type { FieldRequirement, LabelRequirement } from './requirement.ts';

const declare = (name: string, type: IndexDefinition['type'], multi = false): IndexDefinition => ({
  name,
  path: name,
  type,
  multi,
  unique: false,
  nullable: true,
});
const title = declare('spec.title', 'string');
const size = declare('spec.size', 'integer');
const tags = declare('spec.tags[*]', 'string', true);
const indexes = [...builtinIndexes, title, size, tags];

describe('a compiled selector', () => {
  const object: ApiObject = {
    apiVersion: 'v1',
    kind: 'K',
    metadata: { name: 'x', labels: { app: 'web', empty: '' }, creationTimestamp: '2024-01-01T00:00:00Z' },
    spec: { title: 'Hello, \u{1f600}', size: 3, tags: ['a', 'b', null, 'a'] },
  };
  const rows: [labels: string, fields: string, expected: boolean][] = [
    ['', '', true],
    ['app=web', '', true],
    ['app=web,app!=db', '', true],
    ['app=web,tier', '', false],
    ['tier!=x', '', true],
    ['tier notin (x)', '', true],
    ['!tier', '', true],
    ['tier=', '', false],
    ['empty=', '', true],
    ['empty in (,x)', '', true],
    ['constructor', '', false],
    ['!toString', '', true],
    ['', 'name=x', true],
    ['app=db', 'name=x', false],
    ['', String.raw`spec.title=Hello\, 😀`, true],
    ['', 'spec.title^=Hell', true],
    ['', 'spec.title^=hell', false],
    ['', 'spec.title^=', true],
    ['', 'spec.title>Hello', true],
    ['', 'spec.size>3', false],
    ['', 'spec.size>=3,spec.size<=3', true],
    ['', 'spec.size in (1,3)', true],
    ['', 'spec.size<10', true],
    ['', 'spec.tags[*]=a', true],
    ['', 'spec.tags[*]=(z,b)', true],
    ['', 'spec.tags[*]!=a', false],
    ['', 'spec.tags[*] notin (y,z)', true],
    ['', 'spec.tags[*]', true],
    ['', '!spec.tags[*]', false],
    ['', '!metadata.namespace', true],
    ['', 'metadata.namespace!=x', true],
    ['', 'metadata.namespace^=', false],
    ['', 'metadata.namespace<z', false],
    ['', 'metadata.creationTimestamp<=2024-01-01T01:00:00+01:00', true],
  ];
  test.each(rows)('%s %s: %s', (labels, fields, expected) => {
    expect(
      compileSelector({ labels: parseLabelSelector([labels]), fields: parseFieldSelector([fields], indexes) })(object),
    ).toBe(expected);
  });

  test('an empty list has no key', () => {
    const bare = { ...object, spec: { tags: [] } };
    const matches = (fields: string): boolean =>
      compileSelector({ labels: [], fields: parseFieldSelector([fields], indexes) })(bare);
    expect([
      matches('spec.tags[*]'),
      matches('!spec.tags[*]'),
      matches('spec.tags[*]!=a'),
      matches('spec.size!=1'),
      matches('spec.size<1'),
    ]).toEqual([false, true, true, true, false]);
  });
});

const letter = fc.constantFrom('', 'a', 'b', 'c');
const letters = fc.uniqueArray(letter, { minLength: 1, maxLength: 3 });

test('labels agree with a naive model', () => {
  const key = fc.constantFrom('a', 'b', 'constructor');
  const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
    fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values: letters }),
    fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  );
  fc.assert(
    fc.property(
      fc.array(requirement, { maxLength: 3 }),
      fc.option(fc.dictionary(key, letter), { nil: undefined }),
      (selector, labels) => {
        const pairs = new Map(Object.entries(labels ?? {}));
        const expected = selector.every((one) => {
          const value = pairs.get(one.key);
          const isIn = 'values' in one && value !== undefined && one.values.indexOf(value) >= 0;
          return { In: isIn, NotIn: !isIn, Exists: value !== undefined, DoesNotExist: value === undefined }[
            one.operator
          ];
        });
        expect(matchesLabels(selector, labels)).toBe(expected);
      },
    ),
    { numRuns: 1000 },
  );
});

test('fields agree with a naive model, by keys and by objects', () => {
  const value = fc.constantFrom('', 'a', 'ab', 'b', '\uffff', '\u{10000}');
  const requirement: fc.Arbitrary<FieldRequirement> = fc.oneof(
    fc.record({
      index: fc.constantFrom(title, tags),
      operator: fc.constantFrom('In', 'NotIn'),
      values: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ index: fc.constantFrom(title, tags, size), operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    fc.record({
      index: fc.constant(title),
      operator: fc.constantFrom('GreaterThan', 'GreaterOrEqual', 'LessThan', 'LessOrEqual'),
      value,
    }),
    fc.record({
      index: fc.constant(size),
      operator: fc.constantFrom('GreaterThan', 'GreaterOrEqual', 'LessThan', 'LessOrEqual'),
      value: fc.integer({ min: -2, max: 2 }),
    }),
    fc.record({ index: fc.constant(title), operator: fc.constant('Prefix'), value }),
  );
  const spec = fc.record({
    title: fc.option(value),
    size: fc.option(fc.integer({ min: -2, max: 2 })),
    tags: fc.uniqueArray(value, { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 3 }), spec, (selector, data) => {
      const keyOf = (index: IndexDefinition): IndexKey =>
        ({ [title.name]: data.title, [size.name]: data.size, [tags.name]: data.tags })[index.name] ?? null;
      const expected = selector.every((one) =>
        naive(
          one,
          [keyOf(one.index)].flat().filter((key) => key !== null),
        ),
      );
      expect(matchesFields(selector, keyOf)).toBe(expected);
      const object: ApiObject = { apiVersion: 'v1', kind: 'K', metadata: { name: 'x' }, spec: data };
      expect(compileSelector({ labels: [], fields: selector })(object)).toBe(expected);
    }),
    { numRuns: 1000 },
  );
});

/** `present`: the keys of the object: none, one or several. */
function naive(requirement: FieldRequirement, present: IndexValue[]): boolean {
  switch (requirement.operator) {
    case 'Exists':
      return present.length > 0;
    case 'DoesNotExist':
      return present.length === 0;
    case 'In':
      return present.some((key) => requirement.values.indexOf(key) >= 0);
    case 'NotIn':
      return !present.some((key) => requirement.values.indexOf(key) >= 0);
    case 'Prefix':
      return present.some((key) => String(key).indexOf(requirement.value) === 0);
    default: {
      const { value, operator } = requirement;
      const order = (key: IndexValue): number =>
        typeof key === 'number'
          ? key - Number(value)
          : Buffer.compare(Buffer.from(String(key)), Buffer.from(String(value)));
      return present.some((key) => {
        const sign = Math.sign(order(key));
        return { GreaterThan: sign > 0, GreaterOrEqual: sign >= 0, LessThan: sign < 0, LessOrEqual: sign <= 0 }[
          operator
        ];
      });
    }
  }
}
