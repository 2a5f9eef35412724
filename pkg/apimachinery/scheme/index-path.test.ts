import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseIndexPath, type IndexPathSegment } from './index-path.ts';

const p = (property: string): IndexPathSegment => ({ property });
const each: IndexPathSegment = { everyItem: true };

describe('accepts', () => {
  const rows: [path: string, expected: IndexPathSegment[]][] = [
    ['spec', [p('spec')]],
    ['spec.slug', [p('spec'), p('slug')]],
    ['.spec.slug', [p('spec'), p('slug')]],
    ['spec.tags[*]', [p('spec'), p('tags'), each]],
    ['spec.ports[*].name', [p('spec'), p('ports'), each, p('name')]],
    ['spec.grid[*][*]', [p('spec'), p('grid'), each, each]],
    ["metadata.annotations['a.b/c']", [p('metadata'), p('annotations'), p('a.b/c')]],
    ['spec["a"].b', [p('spec'), p('a'), p('b')]],
    [String.raw`spec['it\'s \\ "x"']`, [p('spec'), p(String.raw`it's \ "x"`)]],
    ['spec.größe', [p('spec'), p('größe')]],
    [Array(20).fill('a').join('.'), Array.from({ length: 20 }, () => p('a'))],
  ];
  test.each(rows)('%s', (path, segments) => {
    expect(parseIndexPath(path)).toEqual({ segments });
  });
});

describe('refuses', () => {
  const rows: [reason: string, path: string, problem: string][] = [
    ['nothing', '', 'may not be empty'],
    ['a dot alone', '.', 'at character 1'],
    ['an empty step', 'spec..a', 'at character 5'],
    ['a dot at the end', 'spec.', 'at character 5'],
    ['a position', 'spec.tags[0]', 'at character 10'],
    ['an open bracket', 'spec.tags[', 'at character 10'],
    ['open quotes', "spec['a", 'at character 5'],
    ['other quotes', `spec['a"]`, 'at character 5'],
    ['text after a bracket', 'spec.tags[*]a', 'at character 13'],
    ['a filter', 'spec.a[?(@.b)]', 'at character 7'],
    ['white space', 'spec. a', 'at character 5'],
    ['a list at the top', '[*]', 'starts with a property'],
    ['__proto__', 'spec.__proto__.x', '__proto__'],
    ['constructor', 'constructor', 'constructor'],
    ['constructor in quotes', "spec['constructor']", 'constructor'],
    ['constructor behind escapes', String.raw`spec['c\onstructor']`, 'constructor'],
    ['21 steps', Array(21).fill('a').join('.'), 'at most 20 steps'],
    ['1025 characters', 'a'.repeat(1025), 'at most 1024 characters'],
    ['U+0000', "spec['\0']", 'control characters'],
    ['a lone surrogate', "spec['\ud800']", 'surrogates'],
  ];
  test.each(rows)('%s', (_reason, path, problem) => {
    expect(parseIndexPath(path)).toEqual({ problem: expect.stringContaining(problem) });
  });
});

test('a path is the same after it is formatted and parsed', () => {
  const property = fc
    .oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a', '.', "'", '"', '\\', '[', ']', '*', ' '), maxLength: 8 }),
    )
    .filter((text) => !/\p{Cc}/u.test(text))
    .map(p);
  const segments = fc
    .tuple(property, fc.array(fc.oneof(property, fc.constant(each)), { maxLength: 8 }))
    .map(([first, rest]) => [first, ...rest]);
  fc.assert(
    fc.property(segments, (expected) => {
      const path = expected
        .map((segment) =>
          'property' in segment ? `['${segment.property.replace(/[\\']/g, String.raw`\$&`)}']` : '[*]',
        )
        .join('');
      expect(parseIndexPath(path)).toEqual({ segments: expected });
    }),
    { numRuns: 500 },
  );
});

test('any text gives path segments or a problem', () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom('a', '.', "'", '"', '\\', '[', ']', '[*]', "['"),
      fc.string({ unit: 'binary', maxLength: 1 }),
    ),
    maxLength: 40,
  });
  fc.assert(
    fc.property(text, (path) => {
      const parsed = parseIndexPath(path);
      expect('segments' in parsed ? parsed.segments.length : parsed.problem.length).toBeGreaterThan(0);
    }),
    { numRuns: 1000 },
  );
});
