import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  isStatusError,
  runSync,
  type ApiObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '#pkg/apimachinery/index';
import { newTypeSchema } from '../typed/type-schema.ts';
import { FieldManager } from './field-manager.ts';
import type { ManagedFieldsEntry } from './managed-fields-entry.ts';
import { readingManagedFields, writingManagedFields } from './managed-fields-list.ts';

const apiVersion = 'example.com/v1';
const scalar: JsonSchema = { type: 'string' };
const spec: JsonSchema = {
  type: 'object',
  properties: {
    a: { type: 'array', items: scalar, 'x-kubernetes-list-type': 'set' },
    b: {
      type: 'array',
      items: { type: 'object', properties: { a: scalar, b: { type: 'integer', default: 1 }, c: scalar } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a', 'b'],
    },
    c: { type: 'object', additionalProperties: { type: 'array', items: scalar, 'x-kubernetes-list-type': 'set' } },
    d: { 'x-kubernetes-preserve-unknown-fields': true },
    e: { type: 'object', properties: { a: scalar }, 'x-kubernetes-map-type': 'atomic' },
  },
};
const managers = [undefined, { type: 'object', properties: { spec } } as JsonSchema].map(
  (schema) => new FieldManager({ versions: new Map([[apiVersion, newTypeSchema(schema)]]) }),
);

const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', '__proto__', 'constructor', 'toString', '', '.', 'f:a', '\u0000');
const anyValue = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<JsonValue>(null, true, 0, -0, 1.5, 1e300, '', 'a', '\ud83d\ude00', '<'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map(toObject),
  ),
})).value;
/** What mostly fits the schema. */
const text = fc.constantFrom('x', 'y', 'z');
const fitting = fc.record(
  {
    a: fc.uniqueArray(text),
    b: fc.uniqueArray(fc.record({ a: text, b: fc.constantFrom(1, 2), c: text }, { requiredKeys: ['a'] }), {
      selector: ({ a, b = 1 }) => `${a} ${b}`,
    }),
    c: fc.dictionary(text, fc.uniqueArray(text), { maxKeys: 2 }),
    d: anyValue,
    e: fc.record({ a: text }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;
const content = fc.oneof({ weight: 3, arbitrary: fitting }, { weight: 1, arbitrary: anyValue });
const elementKey = fc.constantFrom(
  '.',
  'f:spec',
  'f:a',
  'f:b',
  'v:"x"',
  'v:1.0',
  'k:{"a":"x"}',
  'k:{',
  'x:y',
  'z',
  'i:1',
  'f:__proto__',
);
const fields = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>({}, null),
    fc.array(fc.tuple(elementKey, tie('value')), { maxLength: 4 }).map(toObject),
  ),
})).value;
const entry = fc.record(
  {
    manager: fc.constantFrom<JsonValue>('m', 'n', '', 'kubectl', 1),
    operation: fc.constantFrom<JsonValue>('Apply', 'Update', 'Other'),
    apiVersion: fc.constantFrom<JsonValue>(apiVersion, 'example.com/v9', ''),
    fieldsType: fc.constantFrom<JsonValue>('FieldsV1', 'FieldsV1', 'FieldsV1', 'FieldsV2'),
    fieldsV1: fields,
    time: fc.constantFrom<JsonValue>('2026-01-01T00:00:00Z', 'never', 5),
    subresource: fc.constantFrom<JsonValue>('status', ''),
  },
  { requiredKeys: ['operation', 'apiVersion', 'fieldsType'] },
);
const list = fc.oneof(fc.array(entry as fc.Arbitrary<JsonValue>, { maxLength: 4 }), anyValue);

function toObject(members: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(members);
}

function object(value: JsonValue, managedFields?: JsonValue): ApiObject {
  const metadata = { name: 'o', ...(managedFields === undefined ? {} : { managedFields }) };
  return { apiVersion, kind: 'Thing', metadata, spec: value } as unknown as ApiObject;
}

/** The result, or undefined for a refusal that is declared. */
function orRefusal<Result>(apply: () => Result): Result | undefined {
  try {
    return apply();
  } catch (error) {
    expect(isStatusError(error)).toBe(true);
    return undefined;
  }
}

describe('whatever is sent', () => {
  const input = fc.tuple(fc.constantFrom(...managers), content, content, list, fc.constantFrom('m', 'kubectl', ''));

  test('an update never throws, changes no argument, and returns entries that can be read', () => {
    fc.assert(
      fc.property(input, list, ([manager, from, to, entries, name], requested) => {
        const [live, updated] = [object(from, entries), object(to)];
        const before = JSON.stringify([live, updated, requested]);
        for (const value of [undefined, live]) {
          const result = manager.update(value, updated, { manager: name, now: 0, requested });
          if (result !== (live.metadata.managedFields as unknown))
            expect(runSync(writingManagedFields(runSync(readingManagedFields(result))))).toEqual(result);
        }
        expect(JSON.stringify([live, updated, requested])).toBe(before);
      }),
      { numRuns: 1000 },
    );
  });

  test('an apply is refused with 400 or 409, or applying it again changes nothing', () => {
    fc.assert(
      fc.property(input, fc.boolean(), ([manager, from, to, entries, name], force) => {
        const [live, config] = [object(from, entries), object(to)];
        const before = JSON.stringify([live, config]);
        for (const value of [undefined, live]) {
          const options = { manager: name, force, now: 0 };
          const result = orRefusal(() => manager.apply(value, config, options));
          if (result === undefined) continue;
          const again = manager.apply(result.object, config, { ...options, force: false, now: 9000 });
          expect(again.object).toBe(result.object);
        }
        expect(JSON.stringify([live, config])).toBe(before);
      }),
      { numRuns: 1000 },
    );
  });

  test('a new object belongs to its manager as an old one without managers does to before-first-apply', () => {
    fc.assert(
      fc.property(fc.constantFrom(...managers), fitting, (manager, value) => {
        const created = manager.update(undefined, object(value), { manager: 'm', now: 0 });
        const { spec: _, ...nothing } = object({});
        const applied = orRefusal(() => manager.apply(object(value), nothing as ApiObject, { manager: 'a', now: 0 }));
        if (applied === undefined) return;
        const before = applied.managedFields.map((each) => ({ ...each, manager: 'm' }));
        expect(before).toEqual(created);
      }),
      { numRuns: 600 },
    );
  });

  test('what a manager applied is in the object, and the last owner takes it away', () => {
    const manager = managers[1]!;
    fc.assert(
      fc.property(fitting, fitting, (first, second) => {
        const applied = orRefusal(() => manager.apply(undefined, object(first), { manager: 'a', now: 0 }));
        if (applied === undefined) return;
        const both = orRefusal(() =>
          manager.apply(applied.object, object(second), { manager: 'b', force: true, now: 0 }),
        );
        if (both === undefined) return;
        const names = (both.managedFields as readonly ManagedFieldsEntry[]).map(({ manager: name }) => name);
        expect(new Set(names).size).toBe(names.length);
        const left = manager.apply(both.object, object({}), { manager: 'a', now: 0 });
        const none = manager.apply(left.object, object({}), { manager: 'b', now: 0 });
        expect(JSON.stringify(none.object.spec ?? {})).toMatch(/^(\{\}|null)$/);
      }),
      { numRuns: 600 },
    );
  });

  test('depth and size are no problem', () => {
    let deep: JsonValue = 1;
    for (let level = 0; level < 20_000; level += 1) deep = { d: deep };
    const wide = Array.from({ length: 20_000 }, (_, index) => String(index));
    for (const manager of managers) {
      expect(manager.update(object({ d: {} }), object(deep), { manager: 'u', now: 0 })).toEqual([]);
      orRefusal(() => manager.apply(undefined, object(deep), { manager: 'a', now: 0 }));
      const live = orRefusal(() => manager.apply(undefined, object({ a: wide }), { manager: 'a', now: 0 }));
      const other = manager.apply(live!.object, object({ a: wide.toReversed() }), {
        manager: 'b',
        force: true,
        now: 0,
      });
      expect(other.managedFields).toHaveLength(2);
    }
  });
});
