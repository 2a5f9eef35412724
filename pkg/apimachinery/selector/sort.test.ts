import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { builtinIndexes, type IndexDefinition } from '../scheme/index-definition.ts';
import { isStatusError } from '../status/status-error.ts';
import { parseSort } from './sort.ts';

const declare = (name: string, multi = false): IndexDefinition => ({
  name,
  path: name,
  type: 'string',
  multi,
  unique: false,
  nullable: true,
});
const many = Array.from({ length: 9 }, (_, position) => declare(`spec.f${position}`));
const indexes = [...builtinIndexes, declare('spec.title'), declare('spec.tags[*]', true), ...many];

describe('accepts', () => {
  const rows: [reason: string, texts: string[], expected: [name: string, descending: boolean][]][] = [
    ['ascending by default', ['spec.title'], [['spec.title', false]]],
    ['asc', ['spec.title,asc'], [['spec.title', false]]],
    ['desc in any case', ['spec.title,DeSC'], [['spec.title', true]]],
    [
      'priority order',
      ['spec.title,desc', 'metadata.creationTimestamp'],
      [
        ['spec.title', true],
        ['metadata.creationTimestamp', false],
      ],
    ],
    ['the alias', ['name,desc'], [['metadata.name', true]]],
    ['white space', [' spec.title , desc '], [['spec.title', true]]],
    ['an empty occurrence', [''], []],
    ['eight keys', many.slice(0, 8).map((index) => index.name), many.slice(0, 8).map((index) => [index.name, false])],
    ['none', [], []],
  ];
  test.each(rows)('%s', (_reason, texts, expected) => {
    expect(parseSort(texts, indexes).map((key) => [key.index.name, key.descending])).toEqual(expected);
  });
});

describe('refuses with 400', () => {
  const rows: [reason: string, texts: string[], field: string, message: string][] = [
    ['an unindexed field', ['spec.nope'], 'spec.nope', 'not an indexed field'],
    ['labels', ['metadata.labels'], 'metadata.labels', 'not an indexed field'],
    ['several values', ['spec.tags[*]'], 'spec.tags[*]', 'not an indexed field of a single value'],
    ['no field', [',desc'], 'sort', 'not an indexed field'],
    ['an unknown direction', ['spec.title,down'], 'spec.title', "',asc' or ',desc'"],
    ['an empty direction', ['spec.title,'], 'spec.title', "',asc' or ',desc'"],
    [
      'several fields in one value, as Halo writes them',
      ['spec.title,spec.f1,desc'],
      'spec.title',
      "give 'sort' once for each field",
    ],
    ['a field twice', ['spec.title', 'spec.f1', 'spec.title,desc'], 'spec.title', 'given twice'],
    ['a field twice by its alias', ['name', 'metadata.name'], 'metadata.name', 'given twice'],
    ['nine keys', many.map((index) => index.name), 'sort', 'at most 8'],
  ];
  test.each(rows)('%s', (_reason, texts, field, message) => {
    expect(() => parseSort(texts, indexes)).toThrow(
      expect.objectContaining({
        code: 400,
        message: expect.stringContaining(message),
        details: {
          causes: [
            {
              reason: 'FieldValueInvalid',
              field,
              message: expect.stringContaining('sortable fields: metadata.name, '),
            },
          ],
        },
      }),
    );
  });
});

test('any text is parsed or refused with 400', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('name', 'name,', 'spec.f1,desc')), {
        maxLength: 4,
      }),
      (texts) => {
        try {
          parseSort(texts, indexes);
        } catch (error) {
          if (!isStatusError(error, 'BadRequest')) throw error;
        }
      },
    ),
    { numRuns: 500 },
  );
});
