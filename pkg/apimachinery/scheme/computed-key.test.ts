import { describe, expect, test } from '@jest/globals';
import { computedKey, computedKeyOf, KeyNotComputed, keyFromResult } from './computed-key.ts';
import type { ComputedIndex, IndexKey, IndexType } from './index-definition.ts';
import { extractIndexKeys } from './index-key.ts';

const declare = (type: IndexType, { multi = false, nullable = true } = {}): ComputedIndex => ({
  name: 'it',
  path: '',
  computed: computedKey('f', 'script', { type, multi }),
  type,
  multi,
  unique: false,
  nullable,
});

test('the id of a computation covers all that it depends on, and nothing else', () => {
  const { id, script } = computedKey('f', 'script', { type: 'string', multi: false });
  expect(id).toMatch(/^[\w-]{22}$/);
  expect(computedKey('f', 'script', { type: 'string', multi: false })).toEqual({ function: 'f', script, id });
  const others = [
    computedKey('g', 'script', { type: 'string', multi: false }),
    computedKey('f', 'script ', { type: 'string', multi: false }),
    computedKey('f', 'script', { type: 'date', multi: false }),
    computedKey('f', 'script', { type: 'string', multi: true }),
  ];
  expect(new Set([id, ...others.map((other) => other.id)]).size).toBe(5);
});

describe('a result', () => {
  const rows: [
    type: IndexType,
    values: unknown[],
    key: IndexKey,
    cause: string | undefined,
    form?: { multi?: boolean; nullable?: boolean },
  ][] = [
    ['string', ['a'], 'a', undefined],
    ['string', [''], '', undefined],
    ['string', [], null, undefined],
    ['string', [], null, 'FieldValueRequired', { nullable: false }],
    ['string', [1], null, 'FieldValueTypeInvalid'],
    ['string', ['\u0000'], null, 'FieldValueInvalid'],
    ['string', ['\ud800'], null, 'FieldValueInvalid'],
    ['string', ['ä'.repeat(512)], 'ä'.repeat(512), undefined],
    ['string', ['ä'.repeat(513)], null, 'FieldValueTooLong'],
    ['integer', [2 ** 53 - 1], 2 ** 53 - 1, undefined],
    ['integer', [2 ** 53], null, 'FieldValueInvalid'],
    ['integer', [1.5], null, 'FieldValueInvalid'],
    ['integer', ['1'], null, 'FieldValueTypeInvalid'],
    ['number', [-0], 0, undefined],
    ['boolean', [false], false, undefined],
    ['date', ['1970-01-01T00:00:01Z'], 1000, undefined],
    ['date', [1000], null, 'FieldValueTypeInvalid'],
    ['date', ['yesterday'], null, 'FieldValueInvalid'],
    ['string', ['a', 'b', 'a'], ['a', 'b'], undefined, { multi: true }],
    ['string', ['a', 1], ['a'], 'FieldValueTypeInvalid', { multi: true }],
    ['string', [], [], 'FieldValueRequired', { multi: true, nullable: false }],
  ];
  test.each(rows)('%s %j: %j %s', (type, values, key, reason, form = {}) => {
    const index = declare(type, form);
    const result = keyFromResult(index, { values });
    expect([result.key, result.cause?.reason, result.cause?.field]).toEqual([
      key,
      reason,
      reason === undefined ? undefined : 'it',
    ]);
    if (reason !== undefined) expect(result.cause!.message).toContain('index it');
  });

  test('a fault becomes a cause with its message, and gives no key', () => {
    expect(keyFromResult(declare('string', { multi: true }), { fault: 'f threw' })).toEqual({
      key: [],
      cause: { reason: 'FieldValueInvalid', field: 'it', message: 'Invalid value: index it: f threw' },
    });
  });

  test('a result has at most 10 000 keys', () => {
    const { key, cause } = keyFromResult(declare('integer', { multi: true }), {
      values: Array.from({ length: 10_001 }, (_, i) => i),
    });
    expect([(key as unknown[]).length, cause?.reason]).toEqual([10_000, 'FieldValueTooMany']);
  });
});

test('a missing result is not an empty one', () => {
  const index = declare('string');
  const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'x' } };
  expect(extractIndexKeys([index], object, { [index.computed.id]: 'a' })).toEqual({ keys: ['a'], causes: [] });
  for (const keys of [undefined, {}, { other: 'a' }]) expect(() => computedKeyOf(index, keys)).toThrow(KeyNotComputed);
  expect(() => extractIndexKeys([index], object)).toThrow(KeyNotComputed);
});
