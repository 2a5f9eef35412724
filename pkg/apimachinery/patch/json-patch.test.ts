import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import type { JsonValue } from '../meta/object.ts';
import { isStatusError, type StatusError } from '../status/status-error.ts';
import { applyJsonPatch } from './json-patch.ts';

function failureOf(run: () => unknown): StatusError {
  try {
    run();
  } catch (error) {
    if (isStatusError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('applyJsonPatch', () => {
  test.each<[string, JsonValue, JsonValue, JsonValue]>([
    ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: null }], { a: 1, b: null }],
    ['add replaces a member', { a: 1 }, [{ op: 'add', path: '/a', value: 2 }], { a: 2 }],
    ['inserts into an array', [1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
    ['appends by index', [1], [{ op: 'add', path: '/1', value: 2 }], [1, 2]],
    ['appends by dash', { a: [1] }, [{ op: 'add', path: '/a/-', value: [2] }], { a: [1, [2]] }],
    ['replaces the document', { a: 1 }, [{ op: 'replace', path: '', value: [1] }], [1]],
    ['adds the document', { a: 1 }, [{ op: 'add', path: '', value: 7 }], 7],
    [
      'removes',
      { a: { b: 1, c: [1, 2, 3] } },
      [
        { op: 'remove', path: '/a/b' },
        { op: 'remove', path: '/a/c/1' },
      ],
      { a: { c: [1, 3] } },
    ],
    ['replaces an element', [1, 2], [{ op: 'replace', path: '/0', value: 3 }], [3, 2]],
    ['moves', { a: { b: 1 }, c: {} }, [{ op: 'move', from: '/a/b', path: '/c/d' }], { a: {}, c: { d: 1 } }],
    [
      'moves within an array',
      ['all', 'grass', 'cows', 'eat'],
      [{ op: 'move', from: '/1', path: '/3' }],
      ['all', 'cows', 'eat', 'grass'],
    ],
    ['moves onto an ancestor', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/a' }], { a: 1 }],
    ['moves to the same place', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    [
      'copies',
      { a: { b: 1 } },
      [
        { op: 'copy', from: '/a', path: '/a/c' },
        { op: 'add', path: '/a/c/d', value: 2 },
      ],
      { a: { b: 1, c: { b: 1, d: 2 } } },
    ],
    [
      'tests',
      { a: { b: [1, { c: null }], d: 2 } },
      [{ op: 'test', path: '/a', value: { d: 2, b: [1, { c: null }] } }],
      { a: { b: [1, { c: null }], d: 2 } },
    ],
    [
      'unescapes',
      { 'a/b': 1, 'm~n': 2, '~1': 3 },
      [
        { op: 'remove', path: '/a~1b' },
        { op: 'remove', path: '/m~0n' },
        { op: 'remove', path: '/~01' },
      ],
      {},
    ],
    ['an empty key', { '': { '': 1 } }, [{ op: 'replace', path: '//', value: 2 }], { '': { '': 2 } }],
    ['a number as a key of an object', { '01': 1 }, [{ op: 'replace', path: '/01', value: 2 }], { '01': 2 }],
    ['ignores other members', {}, [{ op: 'add', path: '/a', value: 1, comment: 'x' }], { a: 1 }],
    ['nothing', { a: 1 }, [], { a: 1 }],
  ])('%s', (_reason, document, patch, expected) => {
    expect(applyJsonPatch(document, patch)).toStrictEqual(expected);
  });

  test.each<[unknown, string]>([
    [{}, 'not an array'],
    [null, 'not an array'],
    [[1], 'not an operation'],
    [[null], 'not an operation'],
    [[{ path: '/a' }], 'no op'],
    [[{ op: 'merge', path: '/a' }], 'an unknown op'],
    [[{ op: 'toString', path: '/a' }], 'a name every object has'],
    [[{ op: 'add', value: 1 }], 'no path'],
    [[{ op: 'add', path: 1, value: 1 }], 'a path of the wrong type'],
    [[{ op: 'add', path: 'a', value: 1 }], 'a path without a slash'],
    [[{ op: 'add', path: '/~2', value: 1 }], 'a bad escape'],
    [[{ op: 'add', path: '/a~', value: 1 }], 'a bad escape at the end'],
    [[{ op: 'add', path: '/a' }], 'no value'],
    [[{ op: 'move', path: '/a' }], 'no from'],
    [
      [
        { op: 'test', path: '/zz', value: 1 },
        { op: 'copy', path: '/a', from: [] },
      ],
      'malformed after inapplicable',
    ],
  ])('%j is malformed: %s', (patch) => {
    expect(failureOf(() => applyJsonPatch({ a: 1 }, patch))).toMatchObject({ code: 400, reason: 'BadRequest' });
  });

  const document = { a: 1, list: [1, 2], o: { p: {} } };
  test.each<[JsonValue, string]>([
    [{ op: 'test', path: '/a', value: '1' }, 'another value'],
    [{ op: 'test', path: '/o', value: { p: {}, q: 1 } }, 'a member too many'],
    [{ op: 'test', path: '/zz', value: null }, 'null is not absence'],
    [{ op: 'remove', path: '/zz' }, 'no such member'],
    [{ op: 'remove', path: '' }, 'the document'],
    [{ op: 'replace', path: '/list/2', value: 1 }, 'past the end'],
    [{ op: 'replace', path: '/list/-', value: 1 }, 'the place after the end'],
    [{ op: 'add', path: '/list/3', value: 1 }, 'a hole'],
    [{ op: 'add', path: '/list/4294967295', value: 1 }, 'a huge index'],
    [{ op: 'add', path: '/list/01', value: 1 }, 'a leading zero'],
    [{ op: 'add', path: '/list/-1', value: 1 }, 'a negative index'],
    [{ op: 'add', path: '/list/1e0', value: 1 }, 'not digits'],
    [{ op: 'add', path: '/list/length', value: 0 }, 'a property of arrays'],
    [{ op: 'replace', path: '/list/length', value: 0 }, 'a property of arrays'],
    [{ op: 'add', path: '/a/b', value: 1 }, 'a scalar parent'],
    [{ op: 'add', path: '/zz/b', value: 1 }, 'no parent'],
    [{ op: 'move', from: '/o', path: '/o/p/x' }, 'into itself'],
    [{ op: 'copy', from: '/zz', path: '/b' }, 'nothing to copy'],
    [{ op: 'add', path: '/__proto__/polluted', value: 1 }, 'the prototype'],
    [{ op: 'add', path: '/constructor', value: 1 }, 'a prototype key'],
    [{ op: 'copy', from: '/toString', path: '/b' }, 'what every object inherits'],
    [{ op: 'test', path: '/__proto__', value: {} }, 'the prototype'],
  ])('%j does not apply: %s', (operation) => {
    const before = structuredClone(document);
    const failure = failureOf(() => applyJsonPatch(document, [{ op: 'test', path: '/a', value: 1 }, operation]));
    expect(failure).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
    expect(failure.details?.causes?.[0]).toMatchObject({
      field: 'patch[1]',
      message: expect.stringMatching(/^patch operation 1 \(/),
    });
    expect(document).toStrictEqual(before);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test.each(['/a~1b', '/m~0n', '/~01', '/~1~0/~0~1'])(
    'names the path of an operation that does not apply as the patch writes it: %s',
    (path) => {
      expect(failureOf(() => applyJsonPatch({}, [{ op: 'remove', path }])).details?.causes?.[0]?.message).toContain(
        `"${path}": `,
      );
    },
  );

  test('decodes every escape of a path segment', () => {
    expect(applyJsonPatch({ 'a/b/c~d~': 1 }, [{ op: 'remove', path: '/a~1b~1c~0d~0' }])).toEqual({});
  });

  test('limits operations, size, depth and work', () => {
    expect(failureOf(() => applyJsonPatch({ a: 1 }, times(10_001, { op: 'test', path: '/a', value: 1 }))).code).toBe(
      413,
    );
    expect(
      failureOf(() => applyJsonPatch({ a: ['x'.repeat(100)] }, times(40, { op: 'copy', from: '', path: '/a/-' }))).code,
    ).toBeGreaterThanOrEqual(400);
    expect(
      failureOf(() => applyJsonPatch({ a: ['x'.repeat(100)] }, times(40, { op: 'copy', from: '/a', path: '/a/-' })))
        .code,
    ).toBeLessThan(500);
    expect(
      failureOf(() =>
        applyJsonPatch({ a: 'x'.repeat(1 << 20), l: [] }, times(3, { op: 'copy', from: '/a', path: '/l/-' })),
      ).code,
    ).toBe(413);
    const deeper = Array.from({ length: 101 }, (_, i) => ({ op: 'add', path: '/a'.repeat(i + 1), value: {} }));
    expect(failureOf(() => applyJsonPatch({}, deeper)).code).toBe(400);
    const lowered = [
      { op: 'add', path: '/b', value: {} },
      ...Array.from({ length: 200 }, (_, i) => [
        { op: 'move', from: '/a', path: '/b/a' },
        { op: 'move', from: '/b', path: '/a' },
        { op: 'add', path: '/b', value: i },
        { op: 'replace', path: '/b', value: {} },
      ]).flat(),
    ];
    expect(failureOf(() => applyJsonPatch({ a: {} }, lowered)).code).toBe(400);
    const wide = {
      a: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1])),
      l: Array.from({ length: 200_000 }, () => 1),
    };
    const start = performance.now();
    expect(failureOf(() => applyJsonPatch(wide, times(10_000, { op: 'test', path: '/a', value: wide.a }))).code).toBe(
      413,
    );
    const moved = Array.from({ length: 10_000 }, () => ({ op: 'move', from: '/l/0', path: '/l/100000' }));
    expect(failureOf(() => applyJsonPatch(wide, moved)).code).toBe(413);
    process.stdout.write(`two hostile JSON patches: ${(performance.now() - start).toFixed(0)} ms\n`);
  });

  test('limits the size that copies of copies produce', () => {
    const doubled = failureOf(() => applyJsonPatch({ a: [{}] }, times(40, { op: 'copy', from: '/a', path: '/a/0' })));
    expect(doubled).toMatchObject({ code: 413, message: 'the patch copies more than 400000 values and keys' });
    const keys = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`k${i}`, 1]));
    expect(
      failureOf(() => applyJsonPatch({ a: keys }, times(6, { op: 'copy', from: '/a', path: '/b' }))).message,
    ).toContain('copies more than');
    expect(applyJsonPatch({ a: keys }, times(2, { op: 'copy', from: '/a', path: '/b' }))).toEqual({ a: keys, b: keys });
  });

  test('agrees with a naive model, and changes neither argument', () => {
    fc.assert(
      fc.property(anyDocument(), fc.array(anyOperation(), { maxLength: 5 }), (value, patch) => {
        const before = JSON.stringify([value, patch]);
        const expected = naive(value, patch);
        let actual: JsonValue | undefined;
        try {
          actual = applyJsonPatch(value, patch);
        } catch (error) {
          expect(isStatusError(error, 'Invalid')).toBe(true);
        }
        expect(actual).toEqual(expected);
        expect(JSON.stringify([value, patch])).toBe(before);
        if (actual !== undefined) mutate(actual);
        expect(JSON.stringify([value, patch])).toBe(before);
      }),
      { numRuns: 1000 },
    );
  });
});

function times(count: number, operation: JsonValue): JsonValue[] {
  return Array.from({ length: count }, () => operation);
}

interface Operation {
  op: string;
  path: string;
  from: string;
  value: JsonValue;
}

/** The RFC on paths and values: every operation creates a new document from the old one; undefined is a failure. */
function naive(document: JsonValue, patch: Operation[]): JsonValue | undefined {
  let current: JsonValue | undefined = document;
  for (const { op, path, from, value } of patch) {
    if (current === undefined) return undefined;
    const source: JsonValue | undefined =
      op === 'move' || op === 'copy' ? read(current, from.split('/').slice(1)) : value;
    const tokens = path.split('/').slice(1);
    const there = read(current, tokens);
    if (source === undefined || (there === undefined && (op === 'remove' || op === 'replace' || op === 'test')))
      return undefined;
    if (op === 'move' && `${path}/`.startsWith(`${from}/`) && path !== from) return undefined;
    if (op === 'test') current = sorted(there) === sorted(source) ? current : undefined;
    else if (op === 'remove') current = write(current, tokens, 'remove', null);
    else if (op === 'replace') current = write(current, tokens, 'replace', source);
    else if (op === 'move' && path === from) continue;
    else {
      const base: JsonValue | undefined =
        op === 'move' ? write(current, from.split('/').slice(1), 'remove', null) : current;
      current = base === undefined ? undefined : write(base, tokens, 'add', source);
    }
  }
  return current;
}

function read(value: JsonValue, [head, ...rest]: string[]): JsonValue | undefined {
  if (head === undefined) return value;
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(head)))
    return undefined;
  const member = Object.entries(value).find(([key]) => key === head)?.[1];
  return member === undefined ? undefined : read(member, rest);
}

function write(
  value: JsonValue,
  [head, ...rest]: string[],
  how: 'add' | 'remove' | 'replace',
  leaf: JsonValue,
): JsonValue | undefined {
  if (head === undefined) return how === 'remove' ? undefined : leaf;
  if (typeof value !== 'object' || value === null) return undefined;
  if (rest.length > 0) {
    const member = read(value, [head]);
    const changed = member === undefined ? undefined : write(member, rest, how, leaf);
    if (changed === undefined) return undefined;
    return Array.isArray(value) ? value.with(Number(head), changed) : { ...value, [head]: changed };
  }
  if (!Array.isArray(value)) {
    const others = Object.fromEntries(Object.entries(value).filter(([key]) => key !== head));
    return how === 'remove' ? others : { ...others, [head]: leaf };
  }
  const index = head === '-' ? value.length : /^(0|[1-9]\d*)$/.test(head) ? Number(head) : Infinity;
  if (index > value.length) return undefined;
  return how === 'replace'
    ? value.with(index, leaf)
    : value.toSpliced(index, how === 'remove' ? 1 : 0, ...(how === 'add' ? [leaf] : []));
}

function sorted(value: JsonValue | undefined): string {
  return JSON.stringify(value, (_, member: JsonValue) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

function mutate(value: JsonValue): void {
  if (typeof value !== 'object' || value === null) return;
  for (const member of Object.values(value)) mutate(member);
  if (Array.isArray(value)) value.push('scribble');
  else value['scribble'] = true;
}

function anyDocument(): fc.Arbitrary<JsonValue> {
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<JsonValue>(null, 0, 'x', true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  return value;
}

function anyOperation(): fc.Arbitrary<Operation> {
  const pointer = fc
    .array(fc.constantFrom('a', 'b', '0', '1', '-', '01'), { maxLength: 3 })
    .map((tokens) => tokens.map((token) => `/${token}`).join(''));
  return fc.record({
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
    path: pointer,
    from: pointer,
    value: anyDocument(),
  });
}

test.each([{ tested: { a: 1 } }, { tested: { a: 1, b: 2, c: 3 } }, { tested: { a: 1, c: 2 } }])(
  'an object does not equal a tested object with other keys: $tested',
  ({ tested }) => {
    expect(() => applyJsonPatch({ spec: { a: 1, b: 2 } }, [{ op: 'test', path: '/spec', value: tested }])).toThrow(
      expect.objectContaining({ code: 422 }),
    );
  },
);
