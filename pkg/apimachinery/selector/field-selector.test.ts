import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { builtinIndexes, type IndexDefinition, type IndexType, type IndexValue } from '../scheme/index-definition.ts';
import { isStatusError, type StatusError } from '../status/status-error.ts';
import { parseFieldSelector } from './field-selector.ts';
import { formatComparison, type Comparison } from './format-selector.ts';
import type { FieldRequirement, FieldSelector } from './requirement.ts';

const declare = (name: string, type: IndexType, multi = false): IndexDefinition => ({
  name,
  path: name,
  type,
  multi,
  unique: false,
  nullable: true,
});
const s = declare('spec.title', 'string');
const i = declare('spec.priority', 'integer');
const n = declare('spec.score', 'number');
const b = declare('spec.visible', 'boolean');
const d = declare('spec.published', 'date');
const tags = declare('spec.tags[*]', 'string', true);
const ports = declare('spec.ports[*].port', 'integer', true);
const metaName = builtinIndexes[0]!;
const indexes = [...builtinIndexes, s, i, n, b, d, tags, ports];
const parse = (...texts: string[]): FieldSelector => parseFieldSelector(texts, indexes);

describe('accepts', () => {
  const rows: [reason: string, text: string, expected: FieldSelector][] = [
    ['equals', 'spec.title=v', [{ index: s, operator: 'In', values: ['v'] }]],
    ['double equals', 'spec.title==v', [{ index: s, operator: 'In', values: ['v'] }]],
    ['not equals', 'spec.title!=v', [{ index: s, operator: 'NotIn', values: ['v'] }]],
    ['a set', 'spec.title=(a,b)', [{ index: s, operator: 'In', values: ['a', 'b'] }]],
    ['a set of one', 'spec.title=(a)', [{ index: s, operator: 'In', values: ['a'] }]],
    ['in', 'spec.title in (a, b)', [{ index: s, operator: 'In', values: ['a', 'b'] }]],
    ['in without white space', 'spec.title in(a)', [{ index: s, operator: 'In', values: ['a'] }]],
    ['notin', 'spec.title notin (a,b)', [{ index: s, operator: 'NotIn', values: ['a', 'b'] }]],
    ['the empty value', 'spec.title=', [{ index: s, operator: 'In', values: [''] }]],
    ['greater', 'spec.priority>5', [{ index: i, operator: 'GreaterThan', value: 5 }]],
    ['greater or equal', 'spec.priority>=-5', [{ index: i, operator: 'GreaterOrEqual', value: -5 }]],
    ['less', 'spec.score<1.5e1', [{ index: n, operator: 'LessThan', value: 15 }]],
    ['less or equal', 'spec.title<=m', [{ index: s, operator: 'LessOrEqual', value: 'm' }]],
    ['prefix', 'spec.title^=Hel', [{ index: s, operator: 'Prefix', value: 'Hel' }]],
    ['not null', 'spec.title', [{ index: s, operator: 'Exists' }]],
    ['null', '!spec.title', [{ index: s, operator: 'DoesNotExist' }]],
    ['null with white space', ' ! spec.title ', [{ index: s, operator: 'DoesNotExist' }]],
    ['the alias', 'name=x', [{ index: metaName, operator: 'In', values: ['x'] }]],
    ['what kubectl sends', 'metadata.name=x', [{ index: metaName, operator: 'In', values: ['x'] }]],
    ['contains', 'spec.tags[*]=a', [{ index: tags, operator: 'In', values: ['a'] }]],
    ['contains any', 'spec.ports[*].port=(80,443)', [{ index: ports, operator: 'In', values: [80, 443] }]],
    ['contains nothing', '!spec.tags[*]', [{ index: tags, operator: 'DoesNotExist' }]],
    ['booleans', 'spec.visible!=true', [{ index: b, operator: 'NotIn', values: [true] }]],
    ['-0 is 0', 'spec.score=-0', [{ index: n, operator: 'In', values: [0] }]],
    ['equal values of a set, once', 'spec.priority in (1,01)', [{ index: i, operator: 'In', values: [1] }]],
    [
      'a date',
      'spec.published>=2024-01-01T00:00:00Z',
      [{ index: d, operator: 'GreaterOrEqual', value: 1_704_067_200_000 }],
    ],
    [
      'a date with an offset',
      'spec.published=2024-01-01T02:00:00.5+02:00',
      [{ index: d, operator: 'In', values: [1_704_067_200_500] }],
    ],
    ['a day', 'spec.published<2024-01-01', [{ index: d, operator: 'LessThan', value: 1_704_067_200_000 }]],
    [
      'AND',
      'spec.title=a,spec.priority>1',
      [
        { index: s, operator: 'In', values: ['a'] },
        { index: i, operator: 'GreaterThan', value: 1 },
      ],
    ],
    ['escapes', String.raw`spec.title=a\,b\=c\\d`, [{ index: s, operator: 'In', values: [String.raw`a,b=c\d`] }]],
    [
      'escapes in a set',
      String.raw`spec.title=(a\),\(b,c\,d,\ e\ )`,
      [{ index: s, operator: 'In', values: ['a)', '(b', 'c,d', ' e '] }],
    ],
    ['a value with a parenthesis in front', String.raw`spec.title=\(a`, [{ index: s, operator: 'In', values: ['(a'] }]],
    ['parentheses within a value', 'spec.title=f(x)', [{ index: s, operator: 'In', values: ['f(x)'] }]],
    ['operators within a value', 'spec.title=a=b!c', [{ index: s, operator: 'In', values: ['a=b!c'] }]],
    ['white space of a value is part of it', 'spec.title= a b ', [{ index: s, operator: 'In', values: [' a b '] }]],
    [
      'white space before the operator',
      String.raw`spec.title = a\  , name`,
      [
        { index: s, operator: 'In', values: ['a '] },
        { index: metaName, operator: 'Exists' },
      ],
    ],
    ['white space and a set', 'spec.title = ( a , b )', [{ index: s, operator: 'In', values: ['a', 'b'] }]],
    ['nothing', '', []],
  ];
  test.each(rows)('%s', (_reason, text, expected) => {
    expect(parse(text)).toEqual(expected);
  });

  test('repeated selectors are combined with AND', () => {
    expect(parse('name=a', '', 'name=b')).toHaveLength(2);
  });
});

describe('refuses with 400', () => {
  const rows: [reason: string, text: string, field: string, message: string][] = [
    ['an unindexed field', 'spec.nope=1', 'spec.nope', 'field label not supported: spec.nope'],
    ['an inherited property', 'constructor=1', 'constructor', 'field label not supported: constructor'],
    ['labels', 'metadata.labels=a', 'metadata.labels', 'labels are selected with labelSelector'],
    ['an unknown operator', 'spec.title^v', 'fieldSelector', 'expected an operator'],
    ['a lone !', 'spec.title!v', 'fieldSelector', 'expected an operator'],
    ['a stray comma', 'spec.title=a,', 'fieldSelector', 'expected a field'],
    ['an empty clause', 'spec.title,,name', 'fieldSelector', 'expected a field'],
    ['a comma alone', ',', 'fieldSelector', 'expected a field'],
    ['no field', '=a', 'fieldSelector', 'expected a field'],
    ['not an integer', 'spec.priority=abc', 'spec.priority', '"abc" is not an integer'],
    ['a fraction as an integer', 'spec.priority=1.5', 'spec.priority', 'is not an integer'],
    ['an integer that is not exact', 'spec.priority=9007199254740992', 'spec.priority', 'is not an integer'],
    ['an empty integer', 'spec.priority=', 'spec.priority', '"" is not an integer'],
    ['one bad member', 'spec.priority in (1,x)', 'spec.priority', '"x" is not an integer'],
    ['hexadecimal', 'spec.score=0x10', 'spec.score', 'is not a finite number'],
    ['infinity', 'spec.score=1e999', 'spec.score', 'is not a finite number'],
    ['NaN', 'spec.score=NaN', 'spec.score', 'is not a finite number'],
    ['a boolean in capitals', 'spec.visible=True', 'spec.visible', 'is not true or false'],
    ['no date', 'spec.published=yesterday', 'spec.published', 'is not an RFC 3339 date'],
    ['no such day', 'spec.published=2023-02-29T00:00:00Z', 'spec.published', 'is not an RFC 3339 date'],
    ['no time zone', 'spec.published=2023-02-28T00:00:00', 'spec.published', 'is not an RFC 3339 date'],
    ['an order operator on booleans', 'spec.visible>false', 'spec.visible', 'ordered type'],
    ['an order operator on sets', 'spec.ports[*].port>1', 'spec.ports[*].port', 'single-value'],
    ['a prefix operator on sets', 'spec.tags[*]^=a', 'spec.tags[*]', 'single-value'],
    ['a prefix operator on numbers', 'spec.priority^=1', 'spec.priority', 'single-value index of strings'],
    ['!= with a set', 'spec.title!=(a,b)', 'spec.title', 'take a set of values'],
    ['an order operator with a set', 'spec.title>(a)', 'spec.title', 'take a set of values'],
    ['an empty set', 'spec.title in ()', 'fieldSelector', 'may not be empty'],
    ['an open set', 'spec.title=(a', 'fieldSelector', "expected ',' or ')'"],
    ['a parenthesis within a set', 'spec.title=(a(b)', 'fieldSelector', "expected ',' or ')'"],
    ['text after a set', 'spec.title=(a)b', 'fieldSelector', 'expected a comma'],
    ['an unknown escape', String.raw`spec.title=a\nb`, 'fieldSelector', 'a backslash escapes'],
    ['an escape of nothing', 'spec.title=a\\', 'fieldSelector', 'a backslash escapes'],
    ['U+0000', 'spec.title=a\0', 'spec.title', 'U+0000'],
    ['a lone surrogate', 'spec.title=a\ud800', 'spec.title', 'surrogates'],
    ['a lone surrogate in a set', 'spec.tags[*] in (\udc00)', 'spec.tags[*]', 'surrogates'],
    ['101 requirements', `${'name,'.repeat(100)}name`, 'fieldSelector', 'at most 100 requirements'],
    [
      '1001 values',
      `spec.priority in (${Array.from({ length: 1001 }, (_, value) => value).join(',')})`,
      'fieldSelector',
      'at most 1000 values',
    ],
    ['over 64 KiB', 'ä'.repeat(40_000), 'fieldSelector', 'bytes of selectors'],
  ];
  test.each(rows)('%s', (_reason, text, field, message) => {
    const error = failure(() => parse(text));
    expect(error).toMatchObject({ code: 400, reason: 'BadRequest' });
    expect(error.message).toContain(message);
    expect(error.message.length).toBeLessThan(500);
    expect(error.details?.causes).toEqual([
      expect.objectContaining({
        field,
        message: expect.stringContaining(
          'indexed fields: metadata.name, metadata.namespace, metadata.creationTimestamp',
        ),
      }),
    ]);
  });

  test('the message for an unknown field starts like that of Kubernetes', () => {
    expect(failure(() => parse('metadata.labels.a=b')).message).toMatch(
      /^field label not supported: metadata\.labels\.a/,
    );
    expect(failure(() => parse(`${'x'.repeat(60_000)}=b`)).message.length).toBeLessThan(300);
  });
});

const text = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: fc.constantFrom(...Array.from('ab=!<>^(), \\\t')), maxLength: 8 }),
  )
  .filter((value) => !value.includes('\0'));
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const integer = fc.maxSafeInteger();
const date = fc.integer({ min: -62_000_000_000_000, max: 250_000_000_000_000 });
const typed = fc.oneof(
  ...(
    [
      [s, text],
      [tags, text],
      [i, integer],
      [ports, integer],
      [n, number],
      [b, fc.boolean()],
      [d, date],
    ] as const
  ).map(([index, value]) =>
    fc.record({
      index: fc.constant(index),
      values: fc.uniqueArray(value as fc.Arbitrary<IndexValue>, { minLength: 1, maxLength: 4 }),
    }),
  ),
);
const requirement: fc.Arbitrary<FieldRequirement> = typed.chain(({ index, values }) => {
  const [value = ''] = values;
  const choices: FieldRequirement[] = [
    { index, operator: 'In', values },
    { index, operator: 'NotIn', values },
    { index, operator: 'Exists' },
    { index, operator: 'DoesNotExist' },
  ];
  if (!index.multi && index.type !== 'boolean') {
    choices.push(
      ...(['GreaterThan', 'GreaterOrEqual', 'LessThan', 'LessOrEqual'] as const).map((operator) => ({
        index,
        operator,
        value,
      })),
    );
  }
  if (index === s) choices.push({ index, operator: 'Prefix', value: String(value) });
  return fc.constantFrom(...choices);
});

const comparisons: Partial<Record<FieldRequirement['operator'], Comparison>> = {
  In: 'in',
  NotIn: 'notIn',
  GreaterThan: 'gt',
  GreaterOrEqual: 'gte',
  LessThan: 'lt',
  LessOrEqual: 'lte',
  Prefix: 'prefix',
};
const format = (selector: FieldSelector): string =>
  selector
    .map((each) => {
      const comparison = comparisons[each.operator];
      if (comparison === undefined) return each.operator === 'Exists' ? each.index.name : `!${each.index.name}`;
      const values = 'values' in each ? each.values : 'value' in each ? [each.value] : [];
      const texts = each.index.type === 'date' ? values.map((value) => new Date(Number(value)).toISOString()) : values;
      return formatComparison(each.index.name, comparison, texts);
    })
    .join(',');

test('a selector is the same after it is formatted and parsed', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 6 }), (selector) => {
      expect(parse(format(selector))).toEqual(selector);
    }),
    { numRuns: 500 },
  );
});

test('every special character at either end of a value survives formatting and parsing', () => {
  const values = Array.from(',=()!<>^\\ \t\r\n').flatMap((character) => [
    character,
    `${character}a`,
    `a${character}`,
    `a${character}a`,
  ]);
  const selector: FieldSelector = [
    { index: s, operator: 'In', values },
    ...values.map((value): FieldRequirement => ({ index: s, operator: 'NotIn', values: [value] })),
    ...values.map((value): FieldRequirement => ({ index: s, operator: 'Prefix', value })),
  ];
  for (const each of selector) expect(parse(format([each, { index: metaName, operator: 'Exists' }]))[0]).toEqual(each);
});

test('any text is parsed or refused with 400', () => {
  const part = fc.constantFrom(
    'spec.title',
    'spec.priority',
    'spec.published',
    'name',
    ' in ',
    'notin',
    ...Array.from('ab10=!<>^(), \\\t\0\ud800'),
  );
  const any = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(part, { maxLength: 20 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(fc.array(any, { maxLength: 3 }), (texts) => {
      readOrRefused(() => parse(...texts));
    }),
    { numRuns: 2000 },
  );
});

test('the largest texts are parsed in linear time', () => {
  const started = performance.now();
  for (const unit of [' ', ',', '(', 'a', '!', '=', '\\', '\\,', '1', '1,', '-', '.', 'name,', 'name=(']) {
    const long = unit.repeat(65_000 / unit.length);
    for (const head of ['', 'name=', 'name = ', 'name in (', 'spec.priority=', 'spec.score=', 'spec.published='])
      readOrRefused(() => parse(head + long));
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
