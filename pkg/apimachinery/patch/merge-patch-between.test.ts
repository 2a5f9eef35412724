import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../meta/object.ts';
import { applyMergePatch } from './merge-patch.ts';
import { equalJson } from '../meta/equal-json.ts';
import { mergePatchBetween } from './merge-patch-between.ts';

const cases: { reason: string; before: JsonObject; after: JsonObject; patch: JsonObject | undefined }[] = [
  { reason: 'nothing changed', before: { a: { b: [1] } }, after: { a: { b: [1] } }, patch: undefined },
  {
    reason: 'the order of properties is not a change',
    before: { a: 1, b: 2 },
    after: { b: 2, a: 1 },
    patch: undefined,
  },
  {
    reason: 'only changed properties',
    before: { a: 1, b: { c: 1, d: 2 } },
    after: { a: 1, b: { c: 1, d: 3 } },
    patch: { b: { d: 3 } },
  },
  {
    reason: 'a removed property is null',
    before: { a: 1, b: { c: 1 } },
    after: { b: {} },
    patch: { a: null, b: { c: null } },
  },
  { reason: 'a list is replaced completely', before: { a: [1, 2] }, after: { a: [1, 2, 3] }, patch: { a: [1, 2, 3] } },
  { reason: 'an object in place of a list', before: { a: [1] }, after: { a: { b: 1 } }, patch: { a: { b: 1 } } },
];
test.each(cases)('$reason', ({ before, after, patch }) => {
  expect(mergePatchBetween(before, after)).toEqual(patch);
});

const withoutNull: fc.Arbitrary<JsonValue> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.boolean(),
    fc.integer(),
    fc.constantFrom('', 'x', 'y'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 4 }),
})).value as fc.Arbitrary<JsonValue>;
const objects = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), withoutNull, { maxKeys: 4 });

test('the patch changes the first object into the second', () => {
  fc.assert(
    fc.property(objects, objects, (before, after) => {
      const patch = mergePatchBetween(before, after);
      expect(equalJson(patch === undefined ? before : applyMergePatch(before, patch), after)).toBe(true);
      expect(patch === undefined).toBe(equalJson(before, after));
    }),
  );
});
