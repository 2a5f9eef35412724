import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '#pkg/apimachinery/index';
import { compileColumnPath, firstValue } from './column-path.ts';
import { VisitBudget } from './visit-budget.ts';

const object = {
  metadata: { name: 'a', labels: { 'example.com/team': 'red', plain: 'yes' } },
  spec: { title: 'A', list: [10, 20, 30], empty: [], none: null, nested: { title: 'B' } },
  status: {
    conditions: [
      { type: 'Synced', status: 'False', count: 1 },
      { type: 'Ready', status: 'True', count: 2, reason: 'Fine' },
    ],
  },
};

function valueAt(path: string, value: JsonValue = object, visits = 1000): JsonValue | undefined {
  const compiled = compileColumnPath(path);
  if (compiled === undefined) throw new Error(`${path} cannot be read`);
  return firstValue(compiled, value, new VisitBudget(visits));
}

test.each<[string, JsonValue | undefined]>([
  ['.', object],
  ['.spec.title', 'A'],
  ['.spec.none', null],
  ['.spec.absent', undefined],
  ['.spec.title.deeper', undefined],
  [String.raw`.metadata.labels.example\.com/team`, 'red'],
  [String.raw`.metadata.labels['example\.com/team']`, 'red'],
  [".metadata.labels['example.com/team']", 'red'],
  ['.metadata.labels["plain"]', 'yes'],
  [".metadata.labels['absent','plain']", 'yes'],
  ['.spec.list[0]', 10],
  ['.spec.list[-1]', 30],
  ['.spec.list[3]', undefined],
  ['.spec.list[-4]', undefined],
  ['.spec.title[0]', undefined],
  ['.spec.list[1:]', 20],
  ['.spec.list[-2:]', 20],
  ['.spec.list[2:1]', undefined],
  ['.spec.list[::2]', 10],
  ['.spec.list[*]', 10],
  ['.spec.empty[*]', undefined],
  ['.spec.*', 'A'],
  ['.status.conditions[*].reason', 'Fine'],
  ['..title', 'A'],
  ['.spec.nested..title', 'B'],
  ['..reason', 'Fine'],
  ['..absent', undefined],
  ['.status.conditions[?(@.type=="Ready")].status', 'True'],
  [".status.conditions[?(@.type == 'Ready')].status", 'True'],
  ['.status.conditions[?(@.type!="Synced")].status', 'True'],
  ['.status.conditions[?(@.type=="Absent")].status', undefined],
  ['.status.conditions[?(@.count>1)].type', 'Ready'],
  ['.status.conditions[?(@.count>=1)].type', 'Synced'],
  ['.status.conditions[?(@.count<2)].type', 'Synced'],
  ['.status.conditions[?(@.count<=0)].type', undefined],
  ['.status.conditions[?(@.count=="1")].type', undefined],
  ['.status.conditions[?(@.reason)].type', 'Ready'],
  ['.status.conditions[?(@.status==@.type)].type', undefined],
  ['.spec.list[?(@==20)]', 20],
  ['.spec[?(@.title=="A")]', undefined],
  ['.__proto__', undefined],
  ['.constructor.name', undefined],
])('%s', (path, expected) => {
  expect(valueAt(path)).toEqual(expected);
});

test.each([
  '',
  'spec',
  '.spec.',
  '..',
  '...a',
  '.a b',
  '.a[',
  '.a[0',
  '.a[]',
  '.a[b]',
  '.a[0][?()]',
  '.a[?(type=="x")]',
  '.a[?(@.b==)]',
  '.a[?(@.b==c)]',
  '.a{b}',
  `.a${'.a'.repeat(100)}`,
])('%s cannot be read', (path) => {
  expect(compileColumnPath(path)).toBeUndefined();
});

describe('a path that looks at too many values', () => {
  const wide = { a: Array.from({ length: 50 }, (_, at) => ({ b: at })), z: 1 };
  test.each(['..absent', '.a[*].absent', '.a[?(@.b==49)].b', '..b..b..b'])('%s finds nothing', (path) => {
    expect(valueAt(path, wide, 40)).toBeUndefined();
  });

  test('leaves nothing for the paths after it', () => {
    const budget = new VisitBudget(40);
    expect(firstValue(compileColumnPath('..absent')!, wide, budget)).toBeUndefined();
    expect(firstValue(compileColumnPath('.z')!, wide, budget)).toBeUndefined();
  });
});

test('no path throws, whatever the value', () => {
  const part = fc.constantFrom(
    '.',
    'a',
    '[',
    ']',
    '*',
    '0',
    '-1',
    ':',
    "'a'",
    '"',
    '?(',
    ')',
    '@',
    '==',
    ' ',
    ',',
    '\\',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), fc.jsonValue(), (parts, value) => {
      const compiled = compileColumnPath(`.${parts.join('')}`);
      if (compiled !== undefined) firstValue(compiled, value as JsonValue, new VisitBudget(1000));
    }),
  );
});

test.each([
  [`.a[?(@${' '.repeat(200_000)})]`, true],
  [`.a[?(@${' '.repeat(200_000)}=)]`, false],
  [`.${'a,'.repeat(100_000)}`, false],
  [`.a[${'0,'.repeat(100_000)}0]`, false],
  [`.${'\\'.repeat(199_999)}`, false],
  [`.${'['.repeat(200_000)}`, false],
])('a long path is read in linear time: %#', (path, isReadable) => {
  expect(compileColumnPath(path) !== undefined).toBe(isReadable);
});
