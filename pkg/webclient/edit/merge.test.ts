import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue, ListKeys } from '#pkg/apimachinery/index';
import { mergeObjects, setAt } from './merge.ts';

const lists: ListKeys = { ports: ['name'], tags: [], 'ports[*].hosts': [] };
const merge = (base: JsonObject, mine: JsonObject, theirs: JsonObject): ReturnType<typeof mergeObjects> =>
  mergeObjects({ base, mine, theirs }, lists);

describe('a merge', () => {
  test.each<[string, JsonObject, JsonObject, JsonObject, JsonObject]>([
    ['of different fields', { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }],
    ['of the same change', { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }],
    ['of a field that one side removed', { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 2 }, { b: 2 }],
    ['of new fields', {}, { a: { x: 1 } }, { a: { y: 2 } }, { a: { x: 1, y: 2 } }],
    [
      'of elements with a key',
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 2 },
        ],
      },
      {
        ports: [
          { name: 'a', port: 9 },
          { name: 'b', port: 2 },
          { name: 'c', port: 3 },
        ],
      },
      {
        ports: [
          { name: 'b', port: 8 },
          { name: 'a', port: 1 },
        ],
      },
      {
        ports: [
          { name: 'b', port: 8 },
          { name: 'c', port: 3 },
          { name: 'a', port: 9 },
        ],
      },
    ],
    [
      'of an element that one side removed',
      { ports: [{ name: 'a' }, { name: 'b' }] },
      { ports: [{ name: 'b' }] },
      { ports: [{ name: 'a' }, { name: 'b', port: 1 }] },
      { ports: [{ name: 'b', port: 1 }] },
    ],
    ['of sets', { tags: ['a', 'b'] }, { tags: ['b', 'c'] }, { tags: ['a', 'b', 'd'] }, { tags: ['b', 'c', 'd'] }],
    [
      'of sets within elements',
      { ports: [{ name: 'a', hosts: ['x'] }] },
      { ports: [{ name: 'a', hosts: ['x', 'y'] }] },
      { ports: [{ name: 'a', hosts: [] }] },
      { ports: [{ name: 'a', hosts: ['y'] }] },
    ],
  ])('%s has no conflict', (_reason, base, mine, theirs, merged) => {
    expect(merge(base, mine, theirs)).toEqual({ merged, conflicts: [] });
  });

  test.each<[string, JsonObject, JsonObject, JsonObject, string]>([
    ['of one field', { a: 1 }, { a: 2 }, { a: 3 }, 'a'],
    ['of a field that one side removed and the other changed', { a: { b: 1 } }, { a: {} }, { a: { b: 2 } }, 'a.b'],
    ['of lists without keys', { list: [1] }, { list: [1, 2] }, { list: [1, 3] }, 'list'],
    [
      'of one element',
      { ports: [{ name: 'a', port: 1 }] },
      { ports: [{ name: 'a', port: 2 }] },
      { ports: [{ name: 'a', port: 3 }] },
      'ports[name="a"].port',
    ],
    [
      'of an element that one side removed and the other changed',
      { ports: [{ name: 'a', port: 1 }] },
      { ports: [] },
      { ports: [{ name: 'a', port: 3 }] },
      'ports[name="a"]',
    ],
    [
      'of a list with a key twice',
      { ports: [] },
      { ports: [{ name: 'a' }, { name: 'a' }] },
      { ports: [{ name: 'b' }] },
      'ports',
    ],
  ])('%s is a conflict, and has their value', (_reason, base, mine, theirs, path) => {
    const { merged, conflicts } = merge(base, mine, theirs);
    expect(conflicts.map((conflict) => conflict.path)).toEqual([path]);
    expect(merged).toEqual(theirs);
    for (const conflict of conflicts) setAt(merged, conflict.steps, conflict.mine);
    expect(merged).toEqual(mine);
  });

  test('of a property called __proto__ changes no prototype', () => {
    const { merged } = merge({}, JSON.parse('{"__proto__":{"x":1}}') as JsonObject, { y: 1 });
    expect(JSON.stringify(merged)).toBe('{"y":1,"__proto__":{"x":1}}');
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  });
});

const name = fc.constantFrom('a', 'b', 'c', 'd');
const scalar: fc.Arbitrary<JsonValue> = fc.oneof(fc.nat(3), fc.constant(null), fc.constantFrom('x', 'y'));
const ports = fc.uniqueArray(fc.record({ name, port: fc.nat(3) }, { requiredKeys: ['name'] }), {
  selector: (port) => port.name,
});
const object = fc.record(
  {
    a: scalar,
    b: fc.dictionary(name, scalar, { maxKeys: 3 }),
    list: fc.array(fc.nat(2), { maxLength: 2 }),
    ports,
    tags: fc.uniqueArray(name),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<unknown> as fc.Arbitrary<JsonObject>;

/** Lists with keys are compared without their order. */
function unordered(value: JsonObject): JsonObject {
  const sorted = { ...value };
  for (const field of ['ports', 'tags'])
    if (Array.isArray(sorted[field]))
      sorted[field] = [...sorted[field]].toSorted((x, y) => (JSON.stringify(x) < JSON.stringify(y) ? -1 : 1));
  return sorted;
}

describe('whatever both sides do', () => {
  test('the order of saves does not matter where fields differ', () => {
    fc.assert(
      fc.property(object, object, object, (base, mine, theirs) => {
        const one = merge(base, mine, theirs);
        const other = merge(base, theirs, mine);
        expect(one.conflicts.map(({ path }) => path).toSorted()).toEqual(
          other.conflicts.map(({ path }) => path).toSorted(),
        );
        if (one.conflicts.length === 0) expect(unordered(one.merged)).toEqual(unordered(other.merged));
      }),
      { numRuns: 2000 },
    );
  });

  test('nothing of either is lost silently: with the conflicts decided, each side has its own way', () => {
    fc.assert(
      fc.property(object, object, object, (base, mine, theirs) => {
        // With theirs unchanged the result is mine, and the other way round.
        expect(merge(base, mine, base)).toEqual({ merged: mine, conflicts: [] });
        expect(merge(base, base, theirs)).toEqual({ merged: theirs, conflicts: [] });
        const { merged, conflicts } = merge(base, mine, theirs);
        for (const [field, value] of Object.entries(mine)) {
          if (JSON.stringify(value) === JSON.stringify(base[field]) || field === 'b') continue;
          const isKept = JSON.stringify(merged[field]) === JSON.stringify(value);
          const isHandedOut = conflicts.some(({ path }) => path === field || path.startsWith(`${field}[`));
          const isMerged = (field === 'ports' || field === 'tags') && merged[field] !== undefined;
          expect([field, isKept || isHandedOut || isMerged]).toEqual([field, true]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('a decided conflict has the chosen value', () => {
    fc.assert(
      fc.property(object, object, object, (base, mine, theirs) => {
        const { merged, conflicts } = merge(base, mine, theirs);
        for (const { steps, mine: value } of conflicts) setAt(merged, steps, value);
        const swapped = merge(base, theirs, mine);
        expect(unordered(merged)).toEqual(unordered(swapped.merged));
      }),
      { numRuns: 2000 },
    );
  });
});
