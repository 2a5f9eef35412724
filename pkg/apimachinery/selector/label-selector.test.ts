import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError, type StatusError } from '../status/status-error.ts';
import { formatComparison } from './format-selector.ts';
import { parseLabelSelector } from './label-selector.ts';
import type { LabelRequirement, LabelSelector } from './requirement.ts';

const inSet = (key: string, ...values: string[]): LabelRequirement => ({ key, operator: 'In', values });
const notInSet = (key: string, ...values: string[]): LabelRequirement => ({ key, operator: 'NotIn', values });

describe('accepts', () => {
  const rows: [reason: string, texts: string[], expected: LabelSelector][] = [
    ['equals', ['k=v'], [inSet('k', 'v')]],
    ['double equals', ['k==v'], [inSet('k', 'v')]],
    ['not equals', ['k!=v'], [notInSet('k', 'v')]],
    ['exists', ['k'], [{ key: 'k', operator: 'Exists' }]],
    ['does not exist', ['!k'], [{ key: 'k', operator: 'DoesNotExist' }]],
    ['a set by equals', ['k=(a,b)'], [inSet('k', 'a', 'b')]],
    ['a set by double equals', ['k==(a,b)'], [inSet('k', 'a', 'b')]],
    ['a set of one', ['k=(a)'], [inSet('k', 'a')]],
    ['in', ['k in (a,b)'], [inSet('k', 'a', 'b')]],
    ['notin', ['k notin (a,b)'], [notInSet('k', 'a', 'b')]],
    ['the empty value', ['k='], [inSet('k', '')]],
    ['not the empty value', ['k!='], [notInSet('k', '')]],
    ['the empty value before a clause', ['k=,l'], [inSet('k', ''), { key: 'l', operator: 'Exists' }]],
    ['the empty value within a set', ['k in (,a)'], [inSet('k', '', 'a')]],
    ['only the empty value, as Kubernetes writes it', ['k in (,)'], [inSet('k', '')]],
    ['a value given twice', ['k in (a,a)'], [inSet('k', 'a')]],
    [
      'commas are AND',
      ['a=1,b in (2,3),!c'],
      [inSet('a', '1'), inSet('b', '2', '3'), { key: 'c', operator: 'DoesNotExist' }],
    ],
    ['occurrences are AND', ['a=1', 'a=2'], [inSet('a', '1'), inSet('a', '2')]],
    [
      'white space of Kubernetes',
      [' a = 1 ,\tb\nin\r( 2 , 3 ) , ! c '],
      [inSet('a', '1'), inSet('b', '2', '3'), { key: 'c', operator: 'DoesNotExist' }],
    ],
    ['no white space before a set', ['k in(a)'], [inSet('k', 'a')]],
    ['operators as keys and values', ['in in (in),notin=notin'], [inSet('in', 'in'), inSet('notin', 'notin')]],
    ['a prefixed key', ['app.kubernetes.io/name=x'], [inSet('app.kubernetes.io/name', 'x')]],
    ['an empty parameter', [''], []],
    ['a blank parameter', ['  '], []],
    ['an empty parameter next to another', ['', 'a'], [{ key: 'a', operator: 'Exists' }]],
    ['no parameter', [], []],
    [
      '100 requirements',
      [Array(100).fill('a').join(',')],
      Array.from({ length: 100 }, () => ({ key: 'a', operator: 'Exists' })),
    ],
  ];
  test.each(rows)('%s', (_reason, texts, expected) => {
    expect(parseLabelSelector(texts)).toEqual(expected);
  });
});

describe('refuses with 400', () => {
  const rows: [reason: string, texts: string[], message: string][] = [
    ['only a comma', [','], 'expected a label key'],
    ['a leading comma', [',a'], 'expected a label key'],
    ['a trailing comma', ['a,'], 'expected a label key'],
    ['an empty clause', ['a,,b'], 'expected a label key'],
    ['no key', ['=v'], 'expected a label key'],
    ['no key after !', ['!'], 'expected a label key'],
    ['a value after !', ['!a=b'], 'expected a comma'],
    ['!= with a set', ['k!=(a,b)'], 'notin (a,b)'],
    ['an empty set', ['k in ()'], 'may not be empty'],
    ['an empty set by equals', ['k=()'], 'may not be empty'],
    ['an open set', ['k in (a,b'], "expected ',' or ')'"],
    ['in without a set', ['k in a'], "expected '('"],
    ['two values in a set without a comma', ['k in (a b)'], "expected ',' or ')'"],
    ['two words', ['a b'], 'expected an operator or a comma'],
    ['two values', ['a=b c'], 'expected a comma'],
    ['a closing parenthesis', ['a)'], 'expected an operator or a comma'],
    ['an unknown word', ['k IN (a)'], 'expected an operator or a comma'],
    ['an operator of numbers', ['k>1'], 'unknown operator'],
    ['an operator of fields', ['k^=1'], 'unknown operator'],
    ['too many equals', ['k===v'], 'expected a comma'],
    ['a key with two slashes', ['a/b/c'], "one '/'"],
    ['an empty prefix', ['/a'], 'prefix part'],
    ['a prefix in capitals', ['Example.com/a'], 'prefix part'],
    ['a long prefix', [`${'a.'.repeat(127)}/k`], 'prefix part'],
    ['a long key', ['a'.repeat(64)], 'name part'],
    ['a key with an invalid last character', ['a-=b'], 'name part'],
    ['a value with an invalid first character', ['a=-b'], 'label value'],
    ['a long value', [`a=${'b'.repeat(64)}`], 'label value'],
    ['a bad value in a set', ['a in (b,*)'], 'label value'],
    ['a lone surrogate', ['a=\ud800'], 'label value'],
    ['U+0000', ['a=\0'], 'label value'],
    ['101 requirements', ['a,'.repeat(60) + 'a', 'a,'.repeat(39) + 'a'], 'at most 100 requirements'],
    ['1001 values', [`a in (${Array.from({ length: 1001 }, (_, n) => n).join(',')})`], 'at most 1000 values'],
    ['over 64 KiB', ['a'.repeat(40_000), 'a'.repeat(40_000)], 'bytes of selectors'],
  ];
  test.each(rows)('%s', (_reason, texts, message) => {
    const error = failure(() => parseLabelSelector(texts));
    expect(error).toMatchObject({ code: 400, reason: 'BadRequest' });
    expect(error.message).toContain(message);
    expect(error.details?.causes?.[0]).toMatchObject({
      field: 'labelSelector',
      message: expect.stringContaining(message),
    });
    expect(error.message.length).toBeLessThan(500);
  });
});

const edge = fc.constantFrom('a', 'z', 'A', 'Z', '0', '9');
const name = fc
  .tuple(edge, fc.string({ unit: fc.constantFrom('a', 'Z', '0', '-', '_', '.'), maxLength: 61 }), edge)
  .map(([first, middle, last]) => first + middle + last);
const key = fc.oneof(
  name,
  name.map((text) => `example.com/${text}`),
);
const values = fc.uniqueArray(fc.oneof(name, fc.constant('')), { minLength: 1, maxLength: 5 });
const requirement: fc.Arbitrary<LabelRequirement> = fc.oneof(
  fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values }),
  fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
);

test('a selector is the same after it is formatted and parsed', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 10 }), (selector) => {
      const clauses = selector.map((each) => {
        if ('values' in each) return formatComparison(each.key, each.operator === 'In' ? 'in' : 'notIn', each.values);
        return each.operator === 'Exists' ? each.key : `!${each.key}`;
      });
      expect(parseLabelSelector([clauses.join(',')])).toEqual(selector);
    }),
    { numRuns: 300 },
  );
});

test('any text is parsed or refused with 400', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...Array.from('ab=!<>^(), \\/in\t\ud800')), maxLength: 60 }),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 3 }), (texts) => {
      readOrRefused(() => parseLabelSelector(texts));
    }),
    { numRuns: 2000 },
  );
});

test('the largest texts are parsed in linear time', () => {
  const started = performance.now();
  for (const unit of [' ', ',', '(', 'a', '!', '=', 'a,', 'a=', 'a in (', 'a.', 'a-', '\\']) {
    const text = unit.repeat(65_000 / unit.length);
    for (const whole of [text, `k=${text}`, `k in (${text}`, `${text}!`])
      readOrRefused(() => parseLabelSelector([whole.slice(0, 65_536)]));
  }
  expect(performance.now() - started).toBeLessThan(20_000);
});

function failure(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (isStatusError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function readOrRefused(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!isStatusError(error, 'BadRequest')) throw error;
  }
}
