import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  compareBySort,
  compileSelector,
  type ApiObject,
  type FieldRequirement,
  type IndexDefinition,
  type IndexKey,
  type LabelRequirement,
} from '#pkg/apimachinery/index';
import type { FieldClause, Fields, LabelClause, ObjectState } from '../../history.ts';
import { difference, fieldOf, listedDifference, matcherOf, orderOf, type Place } from './object-match.ts';

const place: Place = { namespace: 'ns', name: 'x' };
const state: ObjectState = {
  uid: 'u',
  marker: 'm',
  labels: { color: 'red', empty: '' },
  fields: { rank: 4, slug: 'abc', none: null, tags: ['a', 'b'] },
};

function takes(labels: LabelClause[], fields: FieldClause[]): boolean {
  return matcherOf({ labels, fields })(place, state);
}

describe('matcherOf', () => {
  test.each<[string, LabelClause, boolean]>([
    ['a value', { key: 'color', operator: 'in', values: ['red', 'blue'] }, true],
    ['another value', { key: 'color', operator: 'in', values: ['blue'] }, false],
    ['an absent label is none of the values', { key: 'size', operator: 'notIn', values: ['red'] }, true],
    ['an empty value is there', { key: 'empty', operator: 'exists' }, true],
    ['what every object inherits is no label', { key: 'constructor', operator: 'absent' }, true],
  ])('labels: %s', (_reason, clause, expected) => {
    expect(takes([clause], [])).toBe(expected);
  });

  test.each<[string, FieldClause, boolean]>([
    ['a set contains', { field: 'tags', operator: 'in', values: ['b', 'c'] }, true],
    ['a set contains none', { field: 'tags', operator: 'notIn', values: ['b', 'c'] }, false],
    ['an absent field is not a value', { field: 'none', operator: 'notIn', values: ['b'] }, true],
    ['an absent field is not below', { field: 'none', operator: '<', value: 9 }, false],
    ['below', { field: 'rank', operator: '<', value: 5 }, true],
    ['at least', { field: 'rank', operator: '>=', value: 5 }, false],
    ['a beginning', { field: 'slug', operator: 'prefix', value: 'ab' }, true],
    ['its name', { field: 'metadata.name', operator: 'in', values: ['x'] }, true],
    ['its namespace', { field: 'metadata.namespace', operator: 'in', values: ['other'] }, false],
  ])('fields: %s', (_reason, clause, expected) => {
    expect(takes([], [clause])).toBe(expected);
  });
});

const indexes: Record<string, IndexDefinition> = {
  rank: { name: 'rank', path: 'spec.rank', type: 'integer', multi: false, unique: false, nullable: true },
  slug: { name: 'slug', path: 'spec.slug', type: 'string', multi: false, unique: false, nullable: true },
  tags: { name: 'tags', path: 'spec.tags[*]', type: 'string', multi: true, unique: false, nullable: true },
};
const word = fc.constantFrom('a', 'ab', 'b', '');
const labelClauses = fc.oneof(
  fc.record({
    key: word,
    operator: fc.constantFrom('in' as const, 'notIn' as const),
    values: fc.array(word, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({ key: word, operator: fc.constantFrom('exists' as const, 'absent' as const) }),
);
const fieldClauses: fc.Arbitrary<FieldClause> = fc.oneof(
  fc.record({
    field: fc.constantFrom('slug', 'tags'),
    operator: fc.constantFrom('in' as const, 'notIn' as const),
    values: fc.array(word, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    field: fc.constant('rank'),
    operator: fc.constantFrom('<' as const, '<=' as const, '>' as const, '>=' as const),
    value: fc.nat(3),
  }),
  fc.record({ field: fc.constant('slug'), operator: fc.constant('prefix' as const), value: word }),
  fc.record({
    field: fc.constantFrom('rank', 'slug', 'tags'),
    operator: fc.constantFrom('exists' as const, 'absent' as const),
  }),
);
const states = fc.record({
  labels: fc.dictionary(word, word, { maxKeys: 2 }),
  fields: fc.record({ rank: fc.option(fc.nat(3)), slug: fc.option(word), tags: fc.array(word, { maxLength: 2 }) }),
});

describe('written apart, and yet the same as the server', () => {
  test('selects the same objects', () => {
    fc.assert(
      fc.property(
        fc.array(labelClauses, { maxLength: 2 }),
        fc.array(fieldClauses, { maxLength: 2 }),
        states,
        (labels, fields, { labels: has, fields: values }) => {
          const matches = compileSelector({
            labels: labels.map(labelRequirement),
            fields: fields.map(fieldRequirement),
          });
          expect(matcherOf({ labels, fields })(place, { ...state, labels: has, fields: values })).toBe(
            matches(objectOf(has, values)),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  test('orders them alike', () => {
    const sorts = fc.uniqueArray(fc.record({ field: fc.constantFrom('rank', 'slug'), descending: fc.boolean() }), {
      maxLength: 2,
      selector: ({ field }) => field,
    });
    const objects = fc.record({ namespace: word, name: word, fields: states.map(({ fields }) => fields) });
    fc.assert(
      fc.property(sorts, objects, objects, (sort, a, b) => {
        const keysOf = ({ fields }: { fields: Fields }): IndexKey[] =>
          sort.map(({ field }) => fields[field] as IndexKey);
        const servers = compareBySort(sort.map(({ field, descending }) => ({ index: indexes[field]!, descending })));
        const ours = orderOf(sort)(a, { ...state, fields: a.fields }, b, { ...state, fields: b.fields });
        expect(Math.sign(ours)).toBe(Math.sign(servers({ ...a, keys: keysOf(a) }, { ...b, keys: keysOf(b) })));
      }),
      { numRuns: 500 },
    );
  });
});

describe('difference', () => {
  test('absent, null and an empty set are the same, and a set has no order', () => {
    expect(difference(state, { ...state, fields: { rank: 4, slug: 'abc', tags: ['b', 'a', 'a'] } })).toBeUndefined();
    expect(difference({ ...state, fields: { tags: [] } }, { ...state, fields: {} })).toBeUndefined();
    expect(fieldOf({ namespace: '', name: 'x' }, state, 'metadata.namespace')).toBeNull();
  });

  test.each<[string, Partial<ObjectState>, RegExp]>([
    ['another write', { marker: 'n' }, /^marker n instead of m$/],
    ['another object', { uid: 'v' }, /^uid v instead of u$/],
    ['a label too many', { labels: { ...state.labels, more: 'x' } }, /^label more is "x" and should be absent$/],
    ['a label too few', { labels: { color: 'red' } }, /^label empty is undefined instead of ""$/],
    ['another value', { fields: { ...state.fields, rank: 5 } }, /^field rank is 5 instead of 4$/],
    ['another set', { fields: { ...state.fields, tags: ['a'] } }, /^field tags is \["a"\]/],
  ])('%s', (_reason, change, expected) => {
    expect(difference(state, { ...state, ...change })).toMatch(expected);
  });

  test('of a list what was not recorded is not compared', () => {
    expect(listedDifference(state, { ...state, labels: {}, fields: {} })).toBeUndefined();
    expect(listedDifference(state, { ...state, marker: 'n', labels: {}, fields: {} })).toMatch(/^marker/);
  });
});

function labelRequirement(clause: LabelClause): LabelRequirement {
  if ('values' in clause)
    return { key: clause.key, operator: clause.operator === 'in' ? 'In' : 'NotIn', values: clause.values };
  return { key: clause.key, operator: clause.operator === 'exists' ? 'Exists' : 'DoesNotExist' };
}

const comparisons = { '<': 'LessThan', '<=': 'LessOrEqual', '>': 'GreaterThan', '>=': 'GreaterOrEqual' } as const;

function fieldRequirement(clause: FieldClause): FieldRequirement {
  const index = indexes[clause.field]!;
  if ('values' in clause) return { index, operator: clause.operator === 'in' ? 'In' : 'NotIn', values: clause.values };
  if (clause.operator === 'prefix') return { index, operator: 'Prefix', value: clause.value };
  if ('value' in clause) return { index, operator: comparisons[clause.operator], value: clause.value };
  return { index, operator: clause.operator === 'exists' ? 'Exists' : 'DoesNotExist' };
}

function objectOf(labels: Record<string, string>, fields: Fields): ApiObject {
  return { apiVersion: 'v1', kind: 'X', metadata: { ...place, labels }, spec: fields };
}
