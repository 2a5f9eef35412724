import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError, type IndexDefinition, type IndexType, type Sort } from '#pkg/apimachinery/index';
import type { ChunkPosition } from '#pkg/storage/index';
import { decodeContinueToken, encodeContinueToken, listFingerprint, type ListIdentity } from './continue-token.ts';

const list: ListIdentity = {
  resource: { group: 'blog.example.com', resource: 'posts' },
  labelSelector: ['a=b'],
  fieldSelector: [],
  sort: ['spec.title'],
};
const fingerprint = listFingerprint(list);

function sortBy(...types: IndexType[]): Sort {
  return types.map((type) => ({
    index: {
      name: type,
      path: `spec.${type}`,
      type,
      multi: false,
      unique: false,
      nullable: true,
    } satisfies IndexDefinition,
    descending: false,
  }));
}

function tokenOf(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((value) => !value.includes('\0'));
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const keyed = fc.oneof(
  fc.tuple(fc.constant<IndexType>('string'), text),
  fc.tuple(fc.constant<IndexType>('boolean'), fc.boolean()),
  fc.tuple(fc.constant<IndexType>('integer'), fc.maxSafeInteger()),
  fc.tuple(
    fc.constant<IndexType>('date'),
    fc.integer({ min: Date.parse('0001-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
  ),
  fc.tuple(
    fc.constant<IndexType>('number'),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  ),
  fc.tuple(fc.constantFrom<IndexType>('string', 'boolean', 'integer', 'number', 'date'), fc.constant(null)),
);

describe('continue token', () => {
  test('is decoded to the position that it was made from', () => {
    fc.assert(
      fc.property(
        fc.array(keyed, { maxLength: 4 }),
        text,
        text,
        fc.tuple(count, count),
        fc.option(count, { nil: undefined }),
        (keys, namespace, name, [revision, served], total) => {
          const position: ChunkPosition = {
            revision,
            namespace,
            name,
            served,
            keys: keys.map(([, value]) => value),
            ...(total === undefined ? {} : { total }),
          };
          const token = encodeContinueToken(position, fingerprint);
          expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
          expect(decodeContinueToken(token, fingerprint, sortBy(...keys.map(([type]) => type)))).toEqual(position);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('of any text is a 400 or a position, never another error', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.base64String(),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
    );
    fc.assert(
      fc.property(hostile, (token) => {
        try {
          decodeContinueToken(token, fingerprint, sortBy('string'));
        } catch (error) {
          expect(isStatusError(error, 'BadRequest')).toBe(true);
          expect((error as Error).message).toMatch(/^invalid continue token: /);
        }
      }),
      { numRuns: 500 },
    );
  });

  const good = { v: 1, rv: 5, ns: '', name: 'a', keys: [], served: 1, list: fingerprint };
  test.each([
    ['another version', { ...good, v: 2 }],
    ['another list', { ...good, list: listFingerprint({ ...list, labelSelector: [] }) }],
    ['a negative revision', { ...good, rv: -1 }],
    ['a revision that is a string', { ...good, rv: '5' }],
    ['a revision beyond 2^53', { ...good, rv: 1e20 }],
    ['a broken count', { ...good, served: 1.5 }],
    ['a total that is a string', { ...good, total: '5' }],
    ['a name PostgreSQL cannot hold', { ...good, name: 'a\0' }],
    ['half a surrogate pair', { ...good, ns: '\ud800' }],
    ['a very long name', { ...good, name: 'a'.repeat(254) }],
    ['keys without a sort', { ...good, keys: ['x'] }],
    ['keys that are not an array', { ...good, keys: { length: 0 } }],
    ['no object', [good]],
    ['null', null],
  ])('with %s is refused', (_reason, value) => {
    expect(() => decodeContinueToken(tokenOf(value), fingerprint, [])).toThrow(/^invalid continue token: /);
  });

  test.each<[IndexType, unknown]>([
    ['string', 5],
    ['string', '\0'],
    ['integer', 1.5],
    ['integer', '5'],
    ['number', '5'],
    ['boolean', 0],
    ['date', '2026-01-01'],
  ])('with a key of an index of type %s that is %p is refused', (type, key) => {
    expect(() => decodeContinueToken(tokenOf({ ...good, keys: [key] }), fingerprint, sortBy(type))).toThrow(
      /does not fit the sort/,
    );
  });

  test('is only valid for its list: every part of the request counts', () => {
    const others: ListIdentity[] = [
      { ...list, resource: { group: 'other.example.com', resource: 'posts' } },
      { ...list, namespace: '' },
      { ...list, namespace: 'default' },
      { ...list, labelSelector: ['a=b', 'c'] },
      { ...list, labelSelector: [], fieldSelector: ['a=b'] },
      { ...list, sort: [] },
    ];
    expect(new Set([list, ...others].map(listFingerprint)).size).toBe(others.length + 1);
  });
});
