import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError, type JsonObject } from '#pkg/apimachinery/index';
import { draftCauses, readTokenDraft, type TokenDraft } from './token-draft.ts';

const nothing: TokenDraft = {
  name: undefined,
  generateName: undefined,
  displayName: undefined,
  expiresAt: undefined,
  roles: undefined,
};

describe('a draft is read from an object', () => {
  test.each<[string, JsonObject, Partial<TokenDraft>, string[]]>([
    ['without anything', {}, {}, []],
    [
      'in full',
      { metadata: { name: 'a' }, spec: { displayName: 'For CI', expiresAt: '2999-01-01T00:00:00Z', roles: ['view'] } },
      { name: 'a', displayName: 'For CI', expiresAt: '2999-01-01T00:00:00Z', roles: ['view'] },
      [],
    ],
    ['with nulls, which are absent', { metadata: { name: null }, spec: { expiresAt: null, roles: null } }, {}, []],
    [
      'with an empty name, which is absent',
      { metadata: { name: '', generateName: 'ci-' }, spec: null },
      { generateName: 'ci-' },
      [],
    ],
    ['with empty roles', { spec: { roles: [] } }, { roles: [] }, []],
    [
      "in the form of the server's response",
      { apiVersion: 'x', kind: 'y', metadata: { uid: 'u', creationTimestamp: 't' }, status: { lastUsed: 't' } },
      {},
      [],
    ],
    [
      'with unknown fields',
      { data: 1, metadata: { labels: {} }, spec: { scopes: [], revoked: true } },
      {},
      ['data', 'metadata.labels', 'spec.scopes', 'spec.revoked'],
    ],
  ])('%s', (_reason, body, draft, unknown) => {
    expect(readTokenDraft(body)).toEqual({ draft: { ...nothing, ...draft }, unknown });
  });

  test('and refused with a cause for each field of a wrong type', () => {
    expect(() =>
      readTokenDraft({ metadata: { name: 1 }, spec: { displayName: {}, expiresAt: 5, roles: ['a', 1] } }),
    ).toThrow(
      expect.objectContaining({
        code: 422,
        details: expect.objectContaining({
          causes: ['metadata.name', 'spec.displayName', 'spec.expiresAt', 'spec.roles'].map((field) =>
            expect.objectContaining({ field, reason: 'FieldValueTypeInvalid' }),
          ),
        }),
      }),
    );
    for (const body of [{ metadata: [] }, { spec: 'x' }, { spec: { roles: 'view' } }] as JsonObject[])
      expect(() => readTokenDraft(body)).toThrow(expect.objectContaining({ code: 422 }));
  });

  test('any object gives a draft, or 422', () => {
    const value = fc.jsonValue();
    const object = fc.record({
      metadata: fc.oneof(value, fc.record({ name: value, generateName: value })),
      spec: fc.oneof(value, fc.record({ displayName: value, expiresAt: value, roles: value })),
    });
    fc.assert(
      fc.property(object, (body) => {
        try {
          draftCauses(readTokenDraft(body as JsonObject).draft);
        } catch (error) {
          expect(isStatusError(error, 'Invalid')).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('of its values', () => {
  const future = new Date(Date.now() + 60_000).toISOString();
  test.each<[string, TokenDraft, string[]]>([
    ['absent values are valid', {}, []],
    [
      'valid values are accepted',
      {
        name: 'ci-1',
        displayName: 'Für die Werkstatt',
        expiresAt: future,
        roles: ['view', 'posts.blog.example.com:view', 'system:discovery'],
      },
      [],
    ],
    ['an invalid name', { name: 'No Name' }, ['metadata.name']],
    ['a name of one letter too many', { name: 'a'.repeat(254) }, ['metadata.name']],
    ['an invalid prefix', { generateName: '-x' }, ['metadata.generateName']],
    ['a prefix that ends with a hyphen is valid', { generateName: 'ci-' }, []],
    ['an expiry that has passed', { expiresAt: '2001-01-01T00:00:00Z' }, ['spec.expiresAt']],
    ['an expiry that is not a time', { expiresAt: 'tomorrow' }, ['spec.expiresAt']],
    ['an expiry on a day that does not exist', { expiresAt: '2999-02-30T00:00:00Z' }, ['spec.expiresAt']],
    ['a long text', { displayName: 'a'.repeat(254) }, ['spec.displayName']],
    ['a text of several lines', { displayName: 'a\nb' }, ['spec.displayName']],
    [
      'roles with no name, a slash, and twice',
      { roles: ['', 'a/b', 'view', 'view'] },
      ['spec.roles[0]', 'spec.roles[1]', 'spec.roles[3]'],
    ],
    ['too many roles', { roles: Array.from({ length: 65 }, (_, index) => `r${index}`) }, ['spec.roles']],
    [
      'everything at once',
      { name: '-', expiresAt: '', roles: ['.'] },
      ['metadata.name', 'spec.expiresAt', 'spec.roles[0]'],
    ],
  ])('%s', (_reason, draft, fields) => {
    expect(draftCauses(draft).map(({ field }) => field)).toEqual(fields);
  });
});
