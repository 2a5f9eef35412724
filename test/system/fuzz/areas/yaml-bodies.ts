import { caseName, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { anyWrite, objectAround } from './json-bodies.ts';
import { jsonText } from './hostile-json.ts';
import { hostileText, mutateBytes } from './hostile-text.ts';
import { group } from '../fuzz-targets.ts';

/** Nested lists of aliases: nine levels of nine expand to a billion. */
function bomb(random: SeededRandom): string {
  const levels = random.pick([2, 4, 9, 20]);
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i <= levels; i += 1)
    lines.push(`a${i}: &a${i} [${Array.from({ length: 9 }, () => `*a${i - 1}`).join(', ')}]`);
  return lines.join('\n  ');
}

const pieces: readonly string[] = [
  'a: 1',
  'a: 1\n  a: 2',
  '? a\n  : b',
  '? [a, b]\n  : c',
  '<<: {a: 1}',
  'b: &b {c: 1}\n  <<: *b',
  '<<: [*x, *y]',
  'a: *undefined',
  'a: &a\n    b: *a',
  'a: &a [*a]',
  '*a : 1',
  '&k a: *k',
  'a: !!binary aGVsbG8=',
  'a: !!js/function "x"',
  'a: !ruby/object:X {}',
  'a: !!python/object/apply:os.system [x]',
  'a: !!int "1"',
  'a: !!float x',
  'a: !!str 1',
  'a: !!set {a, b}',
  'a: !!omap [a: 1]',
  'a: !!timestamp 2026-01-01',
  'a: ! x',
  'a: 0o17',
  'a: 0x1F',
  'a: 017',
  'a: 1_000',
  'a: .inf',
  'a: -.INF',
  'a: .nan',
  'a: 190:20:30',
  'a: 9007199254740993',
  'a: 1e400',
  'a: -0',
  'a: +1',
  'a: 1.',
  'a: 0b1',
  'a: yes',
  'a: ~',
  'a:',
  'a: null',
  'null: a',
  'true: a',
  '1: a',
  '1.5: a',
  '[1]: a',
  '{a: b}: c',
  'a: |\n    x\n    y',
  'a: >-\n    x\n\n    y',
  'a: |9\n    x',
  'a: |+\n\n\n',
  'a: "\\x41\\u0041\\U0001F600\\U00110000"',
  'a: "\\ud800"',
  'a: "\\0"',
  "a: 'it''s'",
  'a: "x\n    y"',
  '\ta: 1',
  'a:\t1',
  'a: [1,\n\t2]',
  '- a',
  'a: b: c',
  'a: [',
  'a: {',
  'a: "',
  'a: @x',
  'a: `x`',
  'a: %x',
  '# only',
  'a: 1 # c',
  'a: #',
  '__proto__: {x: 1}',
  'constructor: {x: 1}',
  '"__proto__": 1',
  '? __proto__\n  : 1',
  '--- a',
  '...',
  '---\n---',
  '%YAML 1.1\n---\na: 1',
  '%TAG ! x\n---',
  '\ufeffa: 1',
  'a: \u0000',
  'a: \u0085b',
  'a: \u2028b',
];

function yamlSpec(random: SeededRandom): string {
  return random.one(
    () => random.pick(pieces),
    () => [random.pick(pieces), random.pick(pieces)].join('\n  '),
    () => bomb(random),
    () => `a: ${jsonText(random, 4)}`,
    () => `a: ${'['.repeat(random.pick([50, 99, 101, 5000]))}`,
    () => `${'- '.repeat(random.pick([10, 99, 200, random.chance(0.1) ? 20_000 : 3]))}x`,
    () => `a: ${JSON.stringify(hostileText(random))}`,
    () => `a: ${hostileText(random)}`,
    () => `a: "${'x'.repeat(random.pick([1000, 10_000, random.chance(0.05) ? 1_000_000 : 10]))}"`,
    () =>
      `a: &a ${'x'.repeat(10_000)}\n  b: [${Array.from({ length: random.pick([10, random.chance(0.2) ? 400 : 20]) }, () => '*a').join(', ')}]`,
    () =>
      Array.from(
        { length: random.chance(0.02) ? 30_000 : 20 },
        (_, index) => `k${random.chance(0.1) ? 0 : index}: ${index}`,
      ).join('\n  '),
  );
}

/** YAML bodies: anchors, bombs, tags, directives, several documents, and almost valid YAML. */
export const yamlBodies: AttackArea = {
  name: 'yaml bodies',
  weight: 3,
  generate(random, fixtures) {
    const name = caseName(random);
    const text = random.chance(0.8)
      ? `apiVersion: ${group}/v1\nkind: Free\nmetadata:\n  name: ${name}\nspec:\n  ${yamlSpec(random)}\n${random.pick(['', '', '---\n', '---\na: 1\n', '...\n'])}`
      : objectAround(random, 'Free', name)(yamlSpec(random));
    const body = random.chance(0.2) ? mutateBytes(random, Buffer.from(text)) : Buffer.from(text);
    const request = anyWrite(random, { ...fixtures, posts: fixtures.frees, notes: fixtures.frees }, name, body);
    const headers: [string, string][] = [
      ['Content-Type', random.pick(['application/yaml', 'text/yaml', 'application/yaml; charset=utf-8'])],
      ['Accept', random.pick(['application/yaml', 'application/json', '*/*'])],
    ];
    return { changes: 'maybe', requests: [{ ...request, headers }] };
  },
};
