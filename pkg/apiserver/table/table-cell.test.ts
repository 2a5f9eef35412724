import { expect, test } from '@jest/globals';
import type { JsonValue, PrinterColumn } from '#pkg/apimachinery/index';
import { ageOf, shortText, tableCell } from './table-cell.ts';
import { VisitBudget } from './visit-budget.ts';

const now = Date.parse('2026-01-02T00:00:00Z');

function cell(type: PrinterColumn['type'], value: JsonValue | undefined, visits = 1000): JsonValue {
  return tableCell(type, value, { now, budget: new VisitBudget(visits) });
}

test.each<[PrinterColumn['type'], JsonValue | undefined, JsonValue, string]>([
  ['string', 'a', 'a', 'a text'],
  ['string', '', '', 'an empty text'],
  ['string', 1.5, '1.5', 'a number as text'],
  ['string', true, 'true', 'a boolean as text'],
  ['string', [1, 'a', null, [], {}], '[1,"a",null,[],{}]', 'a list as JSON'],
  ['string', { b: { c: 1 }, a: '"' }, '{"b":{"c":1},"a":"\\""}', 'an object as JSON'],
  ['string', null, null, 'null'],
  ['string', undefined, null, 'nothing'],
  ['integer', 5, 5, 'an integer'],
  ['integer', 5.9, 5, 'a fraction is cut off'],
  ['integer', -5.9, -5, 'a negative one, too'],
  ['integer', '5', null, 'a text is no integer'],
  ['integer', undefined, null, 'nothing'],
  ['number', 1.5, 1.5, 'a number'],
  ['number', '1.5', null, 'a text is no number'],
  ['boolean', false, false, 'a boolean'],
  ['boolean', 'true', null, 'a text is no boolean'],
  ['date', '2026-01-01T00:00:00Z', '24h', 'an age'],
  ['date', '2026-01-01T23:59:55.123456Z', '4s', 'with a fraction'],
  ['date', '2026-01-02T00:59:00+01:00', '60s', 'with an offset'],
  ['date', '2026-01-03T00:00:00Z', '<invalid>', 'of the future'],
  ['date', 'yesterday', '<invalid>', 'no timestamp'],
  ['date', '', '<unknown>', 'an empty text'],
  ['date', 5, null, 'a number is no date'],
  ['date', undefined, null, 'nothing'],
])('%s of %j is %j: %s', (type, value, expected) => {
  expect(cell(type, value)).toBe(expected);
});

test('a missing timestamp is unknown, another value invalid', () => {
  expect([undefined, null, '', 5, 'x'].map((value) => ageOf(value, now))).toEqual([
    '<unknown>',
    '<unknown>',
    '<unknown>',
    '<invalid>',
    '<invalid>',
  ]);
});

test('a text has at most 1024 characters, and never half a character', () => {
  expect(shortText('a'.repeat(1024))).toBe('a'.repeat(1024));
  expect(shortText('a'.repeat(1025))).toBe(`${'a'.repeat(1021)}...`);
  const cut = shortText(`${'a'.repeat(1020)}😀${'b'.repeat(100)}`);
  expect(cut).toBe(`${'a'.repeat(1020)}...`);
});

test.each<[string, JsonValue]>([
  ['a long list', Array.from({ length: 100_000 }, () => 1)],
  ['a long text in it', { a: ['x'.repeat(3_000_000)] }],
  ['a long name', { ['n'.repeat(3_000_000)]: 1 }],
  ['many lists', Array.from({ length: 2000 }, () => [[], [], []])],
])('of %s the cell has the start', (_reason, value) => {
  const text = cell('string', value);
  expect(text).toHaveLength(1024);
  expect(text).toMatch(/^[[{].*\.\.\.$/);
});

test('the names in a printed object are visits', () => {
  const value = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`a${at}`, 1]));
  expect(cell('string', value, 50)).toBe(JSON.stringify(value));
  expect(cell('string', value, 49)).toBe('{}');
});
