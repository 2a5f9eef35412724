import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../meta/object.ts';
import { decodeYaml } from '../serializer/decode-yaml.ts';
import { isStatusError } from '../status/status-error.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

interface PatchCase {
  name: string;
  object: JsonObject;
  patch: JsonValue;
  result?: JsonObject;
  error?: string;
}

const mergeKeys = { owners: 'uid', finalizers: '', 'status.conditions': 'type' };
const file = new URL('patchtest/strategic-merge-patches.yaml', import.meta.url);
const cases = decodeYaml(readFileSync(file)).value as unknown as PatchCase[];

describe('applyStrategicMergePatch', () => {
  test.each(cases)('$name', ({ object, patch, result, error }) => {
    const before = structuredClone({ object, patch });
    const apply = (): JsonObject => applyStrategicMergePatch(object, patch, mergeKeys);
    if (error === undefined) expect(apply()).toEqual(result);
    else expect(apply).toThrow(error);
    expect({ object, patch }).toEqual(before);
  });

  test('no key reaches a prototype', () => {
    const patch = JSON.parse(
      '{"__proto__":{"a":1},"constructor":1,"$setElementOrder/__proto__":["a"],"$deleteFromPrimitiveList/__proto__":["a"]}',
    ) as JsonObject;
    const result = applyStrategicMergePatch({ b: 2 }, patch, mergeKeys);
    expect(Object.entries(result)).toEqual([['b', 2]]);
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
  });

  test('more than 100 levels are refused', () => {
    let deep: JsonValue = 1;
    for (let level = 0; level < 150; level += 1) deep = { a: deep };
    expect(() => applyStrategicMergePatch({}, deep, mergeKeys)).toThrow('levels');
  });
});

/** Objects without directives and without merged lists. */
const plain = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(null, 1, 'x', true),
    fc.array(fc.constantFrom<JsonValue>(1, 'x')),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { noNullPrototype: true }),
})).object;

test('without directives and merged lists it is a JSON merge patch', () => {
  fc.assert(
    fc.property(plain, plain, (object, patch) => {
      expect(applyStrategicMergePatch(object, patch, mergeKeys)).toEqual(applyMergePatch(object, patch));
    }),
  );
});

test('any patch gives an object or a 400', () => {
  const scalar = fc.constantFrom<JsonValue>('a', 'b', 1, null, 'delete', 'replace');
  const key = fc.constantFrom(
    'owners',
    'finalizers',
    'status',
    'conditions',
    'uid',
    'type',
    '$patch',
    '$retainKeys',
    '$setElementOrder/owners',
    '$setElementOrder/finalizers',
    '$deleteFromPrimitiveList/finalizers',
  );
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const object = fc.record({ owners: fc.array(value), finalizers: fc.array(value), status: value });
  fc.assert(
    fc.property(object, value, (before, patch) => {
      try {
        expect(applyStrategicMergePatch(before as JsonObject, patch, mergeKeys)).toBeInstanceOf(Object);
      } catch (error) {
        if (!isStatusError(error, 'BadRequest')) throw error;
      }
    }),
    { numRuns: 2000 },
  );
});

test('ten thousand finalizers merge as they would one by one', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `f${i}`);
  const { finalizers } = applyStrategicMergePatch(
    { finalizers: names },
    { finalizers: names.toReversed(), '$setElementOrder/finalizers': names },
    mergeKeys,
  );
  expect(finalizers).toEqual(names);
});
