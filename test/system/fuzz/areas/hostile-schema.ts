import type { SeededRandom } from '../../harness/seeded-random.ts';
import { hostileText } from './hostile-text.ts';

export type Schema = Record<string, unknown>;

/** Valid patterns that are slow in backtracking engines. */
const slowPatterns: readonly string[] = [
  '(a+)+$',
  '^(a|aa)+$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(.*)*x',
  '(x+x+)+y',
  '^(a?){50}a{50}$',
  'a{1000}',
  '.{0,100}.{0,100}',
  '(?i)a+b',
  '\\p{L}+',
  '^$',
  '(a|b|c)*'.repeat(20),
  'x{10,1000}',
];

/** Patterns that take exponential time in backtracking engines, or much memory in others, or are invalid. */
export const hostilePatterns: readonly string[] = [
  '(a+)+$',
  '^(a|aa)+$',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(.*)*x',
  '(x+x+)+y',
  '^(a?){50}a{50}$',
  'a{1000}',
  '(a{1000}){1000}',
  '((a{100}){100}){100}',
  'a{1,1001}',
  '(',
  ')',
  '[',
  '[z-a]',
  '*',
  '\\',
  '\\1',
  '(?=a)',
  '(?<=a)b',
  '(?<n>a)\\k<n>',
  '\\p{L}+',
  '\\p{Nope}',
  '(?i)a',
  '\\C',
  '\\x{110000}',
  '.{0,1000}.{0,1000}',
  '[^\\x00-\\x{10ffff}]',
  '(?:'.repeat(200) + ')'.repeat(200),
  '(a|b|c)*'.repeat(50),
  '|'.repeat(2000),
  'x'.repeat(20_000),
  '^$',
  '',
  '\\u{1f600}',
  '\ud83d',
  '(?s).*',
  '\\pN{1000}',
  '([\\pL\\pN]{0,500}){0,2}',
];

const types = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'null', '', 'Object', 'any'];

/** Small valid and invalid schemas, nested up to `depth`. */
export function schema(random: SeededRandom, depth: number): Schema {
  const children = (): Schema => (depth <= 0 ? { type: 'string' } : schema(random, depth - 1));
  const value = (): unknown =>
    random.pick<unknown>([0, 1, -1, 1.5, 1e308, '', 'a', null, true, [], {}, [1], { a: 1 }, hostileText(random)]);
  const property = (): string =>
    random.pick([
      'a',
      'b',
      'spec',
      'metadata',
      'apiVersion',
      'kind',
      '__proto__',
      'constructor',
      'toString',
      '',
      'x.y',
      '$ref',
      hostileText(random),
    ]);
  const makers: (() => Schema)[] = [
    () => ({ type: random.pick(types) }),
    () => ({ type: 'object', properties: Object.fromEntries(random.some(4, () => [property(), children()])) }),
    () => ({ type: 'object', additionalProperties: random.pick([true, false, children(), 'x']) }),
    () => ({
      type: 'array',
      items: random.pick<unknown>([children(), [children()], true]),
      minItems: value(),
      maxItems: random.pick([0, 1, 2 ** 31, 2 ** 53, -1]),
      uniqueItems: random.pick([true, false]),
    }),
    () => ({
      type: 'string',
      pattern: random.pick(hostilePatterns),
      minLength: value(),
      maxLength: random.pick([0, 10, 2 ** 53, -1]),
      format: random.pick(['date-time', 'email', 'byte', 'uuid', 'ipv4', 'int32', 'regex', hostileText(random)]),
    }),
    () => ({
      type: 'integer',
      minimum: value(),
      maximum: value(),
      exclusiveMinimum: value(),
      multipleOf: random.pick([0, 1, -1, 0.1, 1e-308]),
      format: random.pick(['int32', 'int64']),
    }),
    () => ({ type: 'string', enum: random.some(random.chance(0.05) ? 20_000 : 5, value), default: value() }),
    () => ({ [random.pick(['allOf', 'anyOf', 'oneOf'])]: random.some(4, children) }),
    () => ({ not: children(), nullable: random.pick([true, 'x']) }),
    () => ({ $ref: random.pick(['#', '#/definitions/a', 'http://127.0.0.1:1/x', 'file:///etc/passwd']) }),
    () => ({
      type: 'array',
      'x-kubernetes-list-type': random.pick(['map', 'set', 'atomic', 'x']),
      'x-kubernetes-list-map-keys': random.pick([['name'], [], ['a', 'a'], 'x', [hostileText(random)]]),
      items: children(),
    }),
    () => ({
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': random.pick([true, false, 'x']),
      'x-kubernetes-embedded-resource': random.pick([true, false]),
      'x-kubernetes-int-or-string': random.pick([true, false]),
    }),
    () => ({
      type: 'object',
      required: random.pick<unknown>([['a'], ['a', 'a'], 'a', [''], ['__proto__']]),
      default: value(),
    }),
    () => ({
      'x-kubernetes-validations': [
        {
          rule: random.pick(['self.a == 1', 'self.all(x, self.all(y, true))', '(((', '']),
          message: hostileText(random),
        },
      ],
    }),
  ];
  return Object.assign(random.one(...makers), random.chance(0.2) ? random.one(...makers) : {});
}

/** Valid schemas of extreme size, depth or combination. */
export function extremeSchema(random: SeededRandom): Schema {
  return random.one<Schema>(
    () => nested(random.pick([10, 40, 90]), (inner) => ({ type: 'object', properties: { a: inner } })),
    () => nested(random.pick([10, 40]), (inner) => ({ type: 'array', items: inner })),
    () =>
      nested(random.pick([4, 8, 12]), (inner) => ({
        type: 'object',
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
        properties: { a: inner, b: inner },
      })),
    () => ({
      type: 'object',
      [random.pick(['allOf', 'oneOf', 'anyOf'])]: Array.from({ length: random.pick([10, 200, 2000]) }, (_, index) => ({
        required: [`k${index}`],
      })),
    }),
    () => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: random.pick([100, 1000, random.chance(0.1) ? 10_000 : 300]) }, (_, index) => [
          `field${index}`,
          { type: 'string', default: 'x' },
        ]),
      ),
    }),
    () => ({
      type: 'object',
      properties: {
        a: { type: 'string', enum: Array.from({ length: random.pick([100, 5000]) }, (_, index) => `v${index}`) },
      },
    }),
    () =>
      nested(6, (inner) => ({
        type: 'object',
        default: {},
        properties: { a: inner, b: inner, c: { type: 'string', default: 'x'.repeat(1000) } },
      })),
    () => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 30 }, (_, index) => [`p${index}`, { type: 'string', pattern: random.pick(slowPatterns) }]),
      ),
    }),
    () => ({
      type: 'object',
      properties: {
        a: { type: 'string', pattern: random.pick(slowPatterns), maxLength: random.pick([100, 1_000_000]) },
      },
    }),
    () => ({
      type: 'array',
      minItems: 1,
      maxItems: 2 ** 40,
      items: { type: 'string', maxLength: 2 ** 40, pattern: '^(a+)+$' },
    }),
    () => ({ type: 'object', description: 'x'.repeat(random.pick([1000, 500_000])) }),
  );
}

function nested(depth: number, wrap: (inner: Schema) => Schema): Schema {
  let result: Schema = { type: 'string' };
  for (let i = 0; i < depth; i += 1) result = wrap(result);
  return result;
}
