import { describe, expect, test } from '@jest/globals';
import type { IndexDefinition, IndexType } from './index-definition.ts';
import { validateIndexes } from './index-definition-validation.ts';

const good: IndexDefinition = {
  name: 'spec.slug',
  path: 'spec.slug',
  type: 'string',
  multi: false,
  unique: true,
  nullable: true,
};

test('valid indexes have no causes', () => {
  const indexes: IndexDefinition[] = [
    good,
    { ...good, name: 'spec.tags[*]', path: '.spec.tags[*]', multi: true, unique: false },
    { ...good, name: "metadata.annotations['a.b/c']", path: "metadata.annotations['a.b/c']" },
    { ...good, name: 'größe', type: 'number' },
    { ...good, name: 'x'.repeat(253) },
  ];
  expect(validateIndexes(indexes, 'spec.indexes')).toEqual([]);
  expect(
    validateIndexes(
      Array.from({ length: 64 }, (_, n) => ({ ...good, name: `f${n}` })),
      'spec.indexes',
    ),
  ).toEqual([]);
});

describe('causes', () => {
  const rows: [reason: string, change: Partial<IndexDefinition>, field: string, cause: string][] = [
    ['no name', { name: '' }, 'name', 'FieldValueRequired'],
    ['a built-in name', { name: 'metadata.creationTimestamp' }, 'name', 'FieldValueForbidden'],
    ['the labels', { name: 'metadata.labels' }, 'name', 'FieldValueForbidden'],
    ['the alias', { name: 'name' }, 'name', 'FieldValueForbidden'],
    ['a long name', { name: 'x'.repeat(254) }, 'name', 'FieldValueInvalid'],
    ['white space', { name: 'a b' }, 'name', 'FieldValueInvalid'],
    ['a no-break space', { name: 'a\u00a0b' }, 'name', 'FieldValueInvalid'],
    ['a control character', { name: 'a\0' }, 'name', 'FieldValueInvalid'],
    ['an invisible character', { name: 'a\u202e' }, 'name', 'FieldValueInvalid'],
    ['a lone surrogate', { name: 'a\ud800' }, 'name', 'FieldValueInvalid'],
    ...Array.from('=!<>^(),\\').map((sign): [string, Partial<IndexDefinition>, string, string] => [
      `the sign ${sign}`,
      { name: `a${sign}` },
      'name',
      'FieldValueInvalid',
    ]),
    ['a bad path', { path: 'spec..a' }, 'path', 'FieldValueInvalid'],
    ['a prototype in the path', { path: 'spec.__proto__' }, 'path', 'FieldValueInvalid'],
    ['a list for a single value', { path: 'spec.tags[*]' }, 'path', 'FieldValueInvalid'],
    ['no list for several values', { multi: true, unique: false }, 'path', 'FieldValueInvalid'],
    [
      'a field that the server sets after the keys are computed',
      { path: 'metadata.resourceVersion' },
      'path',
      'FieldValueForbidden',
    ],
    ['several values as unique', { path: 'spec.tags[*]', multi: true }, 'unique', 'FieldValueForbidden'],
    ['an unknown type', { type: 'text' as IndexType }, 'type', 'FieldValueNotSupported'],
    ['a type named like an inherited property', { type: 'constructor' as IndexType }, 'type', 'FieldValueNotSupported'],
  ];
  test.each(rows)('%s', (_reason, change, field, reason) => {
    expect(
      validateIndexes(
        [
          { ...good, name: 'other' },
          { ...good, ...change },
        ],
        'spec.indexes',
      ),
    ).toEqual([expect.objectContaining({ field: `spec.indexes[1].${field}`, reason })]);
  });

  test('a duplicate name', () => {
    expect(validateIndexes([good, good], 'indexes')).toEqual([
      expect.objectContaining({ field: 'indexes[1].name', reason: 'FieldValueDuplicate' }),
    ]);
  });

  test('more than 64', () => {
    expect(
      validateIndexes(
        Array.from({ length: 65 }, (_, n) => ({ ...good, name: `f${n}` })),
        'indexes',
      ),
    ).toEqual([expect.objectContaining({ field: 'indexes', reason: 'FieldValueTooMany' })]);
  });
});
