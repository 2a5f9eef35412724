import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import type { JsonObject, JsonValue } from '../meta/object.ts';
import { isStatusError } from '../status/status-error.ts';
import { applyMergePatch } from './merge-patch.ts';

describe('applyMergePatch', () => {
  // RFC 7386, appendix A, without patches that are not objects.
  test.each<[JsonValue, JsonObject, JsonValue]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 1 }, { a: { b: null } }, { a: {} }],
    [{}, { a: [null, { b: null }] }, { a: [null, { b: null }] }],
    [{ a: 1 }, {}, { a: 1 }],
  ])('%j patched with %j is %j', (document, patch, expected) => {
    expect(applyMergePatch(document, patch)).toStrictEqual(expected);
  });

  test.each([[null], ['x'], [1], [[]], [undefined]])('refuses the patch %j', (patch) => {
    expect(() => applyMergePatch({}, patch)).toThrow('a merge patch must be an object');
  });

  test('removes prototype keys and limits depth', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"polluted":1},"a":{"constructor":{"prototype":{"polluted":1}}}}',
    ) as JsonObject;
    expect(applyMergePatch({ b: 1 }, hostile)).toStrictEqual({ b: 1, a: {} });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const nested = (levels: number): JsonObject => (levels === 1 ? {} : { a: nested(levels - 1) });
    expect(applyMergePatch({}, nested(100))).toEqual(nested(100));
    expect(() => applyMergePatch({}, nested(101))).toThrow('deeper than 100');
  });

  test('agrees with the pseudocode of the RFC, and changes neither argument', () => {
    fc.assert(
      fc.property(anyValue(), anyValue(), (document, patch) => {
        const before = JSON.stringify([document, patch]);
        try {
          const result = applyMergePatch(document, patch);
          expect(result).toEqual(rfc(structuredClone(document), patch));
          mutate(result);
        } catch (error) {
          if (!isStatusError(error)) throw error;
          expect(typeof patch !== 'object' || patch === null || Array.isArray(patch)).toBe(true);
        }
        expect(JSON.stringify([document, patch])).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});

function rfc(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: JsonObject = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = rfc(result[name], value);
  }
  return result;
}

function mutate(value: JsonValue): void {
  if (typeof value !== 'object' || value === null) return;
  for (const member of Object.values(value)) mutate(member);
  if (Array.isArray(value)) value.push('scribble');
  else value['scribble'] = true;
}

function anyValue(): fc.Arbitrary<JsonValue> {
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonValue>(null, 0, 'x', true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  return value;
}
