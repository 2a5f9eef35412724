import { describe, expect, test } from '@jest/globals';
import type { ApiObject, JsonValue, ObjectMeta } from '../meta/object.ts';
import { builtinIndexes, type IndexDefinition, type IndexKey } from './index-definition.ts';
import { extractIndexKey, extractIndexKeys } from './index-key.ts';

const single = (path: string, type: IndexDefinition['type'] = 'string', nullable = true): IndexDefinition => ({
  name: path,
  path,
  type,
  multi: false,
  unique: false,
  nullable,
});
const multi = (path: string, type: IndexDefinition['type'] = 'string', nullable = true): IndexDefinition => ({
  ...single(path, type, nullable),
  multi: true,
});
const objectOf = (spec: JsonValue, metadata: Partial<ObjectMeta> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'K',
  metadata: { name: 'x', ...metadata },
  spec,
});

describe('keys', () => {
  const rows: [reason: string, index: IndexDefinition, spec: JsonValue, expected: IndexKey][] = [
    ['a string', single('spec.a'), { a: 'x' }, 'x'],
    ['the empty string is a key', single('spec.a'), { a: '' }, ''],
    ['a leading dot', single('.spec.a'), { a: 'x' }, 'x'],
    ['absent', single('spec.a'), {}, null],
    ['null', single('spec.a'), { a: null }, null],
    ['absent in the middle of the path', single('spec.a.b.c'), {}, null],
    ['an inherited property', single('spec.toString'), {}, null],
    ['an integer', single('spec.a', 'integer'), { a: Number.MIN_SAFE_INTEGER }, Number.MIN_SAFE_INTEGER],
    ['-0 is 0', single('spec.a', 'number'), { a: -0 }, 0],
    ['false is a key', single('spec.a', 'boolean'), { a: false }, false],
    ['a date', single('spec.a', 'date'), { a: '1970-01-01T01:00:00.0019+01:00' }, 1],
    ['1 kB', single('spec.a'), { a: 'ä'.repeat(512) }, 'ä'.repeat(512)],
    ['a key in quotes', single("spec['a.b/c']"), { 'a.b/c': 'x' }, 'x'],
    ['a set, nulls and repetitions dropped', multi('spec.tags[*]'), { tags: ['b', null, 'a', 'b'] }, ['b', 'a']],
    ['an absent list', multi('spec.tags[*]'), {}, []],
    ['an empty list', multi('spec.tags[*]'), { tags: [] }, []],
    ['properties of items', multi('spec.ports[*].port', 'integer'), { ports: [{ port: 1 }, {}, { port: 2 }] }, [1, 2]],
    ['lists of lists', multi('spec.a[*].b[*]'), { a: [{ b: ['x', 'y'] }, null, { b: ['z'] }] }, ['x', 'y', 'z']],
    [
      'equal dates written in two ways',
      multi('spec.a[*]', 'date'),
      { a: ['2024-01-01', '2024-01-01T00:00:00Z'] },
      [1_704_067_200_000],
    ],
  ];
  test.each(rows)('%s', (_reason, index, spec, expected) => {
    expect(extractIndexKeys([index], objectOf(spec))).toEqual({ keys: [expected], causes: [] });
    expect(extractIndexKey(index, objectOf(spec))).toEqual(expected);
  });

  test('of the built-in indexes, in the order of the indexes', () => {
    const ownerReferences = ['u1', 'u2', 'u1'].map((uid) => ({ apiVersion: 'v1', kind: 'K', name: 'o', uid }));
    const object = objectOf({}, { namespace: 'n', creationTimestamp: '2024-01-01T00:00:00Z', ownerReferences });
    expect(extractIndexKeys(builtinIndexes, object)).toEqual({
      keys: ['x', 'n', 1_704_067_200_000, null, ['u1', 'u2']],
      causes: [],
    });
  });
});

describe('causes of a 422', () => {
  const rows: [reason: string, index: IndexDefinition, spec: JsonValue, field: string, cause: string, key: IndexKey][] =
    [
      ['a number as a string', single('spec.a'), { a: 1 }, 'spec.a', 'FieldValueTypeInvalid', null],
      ['a string as a number', single('spec.a', 'number'), { a: '1' }, 'spec.a', 'FieldValueTypeInvalid', null],
      ['a string as a boolean', single('spec.a', 'boolean'), { a: 'true' }, 'spec.a', 'FieldValueTypeInvalid', null],
      ['an object', single('spec.a'), { a: { b: 'x' } }, 'spec.a', 'FieldValueTypeInvalid', null],
      ['a list for a single value', single('spec.a'), { a: ['x'] }, 'spec.a', 'FieldValueTypeInvalid', null],
      ['no list', multi('spec.a[*]'), { a: 'x' }, 'spec.a', 'FieldValueTypeInvalid', []],
      [
        'not an object in the middle of the path',
        single('spec.a.b'),
        { a: 'x' },
        'spec.a',
        'FieldValueTypeInvalid',
        null,
      ],
      [
        'a list in the middle of the path',
        single('spec.a.b'),
        { a: [{ b: 'x' }] },
        'spec.a',
        'FieldValueTypeInvalid',
        null,
      ],
      ['a fraction', single('spec.a', 'integer'), { a: 1.5 }, 'spec.a', 'FieldValueInvalid', null],
      [
        'an integer that is not exact',
        single('spec.a', 'integer'),
        { a: 2 ** 53 },
        'spec.a',
        'FieldValueInvalid',
        null,
      ],
      ['no date', single('spec.a', 'date'), { a: 'yesterday' }, 'spec.a', 'FieldValueInvalid', null],
      [
        'a date in the year 10000',
        single('spec.a', 'date'),
        { a: '9999-12-31T23:59:59-01:00' },
        'spec.a',
        'FieldValueInvalid',
        null,
      ],
      ['over 1 kB', single('spec.a'), { a: 'ä'.repeat(513) }, 'spec.a', 'FieldValueTooLong', null],
      ['U+0000', single('spec.a'), { a: '\0' }, 'spec.a', 'FieldValueInvalid', null],
      ['half a surrogate pair', single('spec.a'), { a: '\ud800' }, 'spec.a', 'FieldValueInvalid', null],
      ['no key', single('spec.a', 'string', false), {}, 'spec.a', 'FieldValueRequired', null],
      ['no keys', multi('spec.a[*]', 'string', false), { a: [null] }, 'spec.a', 'FieldValueRequired', []],
      [
        'one item, named by its index',
        multi('spec.a[*].b'),
        { a: [{ b: 'x' }, { b: 1 }] },
        'spec.a[1].b',
        'FieldValueTypeInvalid',
        ['x'],
      ],
      [
        'a wrong value does not count as missing too',
        single('spec.a', 'string', false),
        { a: 1 },
        'spec.a',
        'FieldValueTypeInvalid',
        null,
      ],
    ];
  test.each(rows)('%s', (_reason, index, spec, field, reason, key) => {
    const { keys, causes } = extractIndexKeys([index], objectOf(spec));
    expect(causes).toEqual([{ field, reason, message: expect.stringContaining(`index ${index.name}`) }]);
    expect(keys).toEqual([key]);
    expect(extractIndexKey(index, objectOf(spec))).toEqual(key);
  });

  test('over 10 000 keys', () => {
    const index = multi('spec.a[*]', 'integer');
    expect(extractIndexKeys([index], objectOf({ a: Array.from(Array(10_000).keys()) })).causes).toEqual([]);
    const { keys, causes } = extractIndexKeys([index], objectOf({ a: Array.from(Array(10_001).keys()) }));
    expect(causes).toEqual([expect.objectContaining({ reason: 'FieldValueTooMany', field: 'spec.a' })]);
    expect(keys[0]).toHaveLength(10_000);
  });

  test('a hostile list gives a limited number of causes in limited time', () => {
    const started = performance.now();
    const { causes } = extractIndexKeys(
      [multi('spec.a[*]')],
      objectOf({ a: Array.from({ length: 1_000_000 }, () => 1) }),
    );
    expect(causes).toHaveLength(10);
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test('all multi-value indexes together have a limited number of keys', () => {
    const indexes = Array.from({ length: 6 }, (_, i): IndexDefinition => ({
      name: `n${i}`,
      path: 'spec.list[*]',
      type: 'integer',
      multi: true,
      unique: false,
      nullable: true,
    }));
    const object = {
      apiVersion: 'v1',
      kind: 'A',
      metadata: { name: 'a' },
      spec: { list: Array.from({ length: 10_000 }, (_, i) => i) },
    };
    expect(extractIndexKeys(indexes.slice(1), object).causes).toEqual([]);
    const { keys, causes } = extractIndexKeys(indexes, object);
    expect(causes).toEqual([expect.objectContaining({ reason: 'FieldValueTooMany', field: 'spec.list[*]' })]);
    expect(keys.map((key) => (key as unknown[]).length)).toEqual([10_000, 10_000, 10_000, 10_000, 10_000, 0]);
  });
});
