import { describe, expect, test } from '@jest/globals';
import { builtinIndexes, type IndexDefinition } from '#pkg/apimachinery/index';
import { encodeContinueToken, listFingerprint } from './continue-token.ts';
import { defaultHandlerOptions } from '../options/handler-options.ts';
import { parseListOptions, type ListParameters } from './list-options.ts';

const title: IndexDefinition = {
  name: 'spec.title',
  path: 'spec.title',
  type: 'string',
  multi: false,
  unique: false,
  nullable: true,
};
const resource = { group: 'blog.example.com', resource: 'posts' };
const served = { resource, indexes: [...builtinIndexes, title] };

function parse(query: string, warnings: string[] = []): ListParameters {
  return parseListOptions({
    query: new URLSearchParams(query),
    served,
    namespace: '',
    options: defaultHandlerOptions,
    warn: (text) => warnings.push(text),
  });
}

describe('list options', () => {
  test.each([
    ['no parameters', '', { type: 'all' }],
    ['0 is absent', 'page=0&size=0&limit=0&continue=', { type: 'all' }],
    ['only page', 'page=3', { type: 'page', page: 3, size: 20, exactTotal: false }],
    ['only size', 'size=5', { type: 'page', page: 1, size: 5, exactTotal: false }],
    ['both, and an exact total', 'page=2&size=5&exactTotal=true', { type: 'page', page: 2, size: 5, exactTotal: true }],
    ['a limit', 'limit=500', { type: 'chunk', limit: 500 }],
    ['a limit with an absent page', 'limit=500&page=0', { type: 'chunk', limit: 500 }],
    ['a huge limit', 'limit=1000000', { type: 'chunk', limit: 10_000 }],
  ])('%s', (_reason, query, extent) => {
    expect(parse(query).extent).toMatchObject(extent);
  });

  test('a size above the maximum is reduced to it, with a warning', () => {
    const warnings: string[] = [];
    expect(parse('size=1001', warnings).extent).toMatchObject({ size: 1000 });
    expect(warnings).toEqual(['size 1001 is above the maximum: pages have at most 1000 items']);
  });

  test.each([
    ['page=-1', 'page'],
    ['page=x', 'page'],
    ['page=1.5', 'page'],
    ['page=%201', 'page'],
    ['page=1e3', 'page'],
    ['page=0x10', 'page'],
    ['page=9007199254740993', 'page'],
    ['page=9007199254740991&size=1000', 'page'],
    ['page=1&page=2', 'page'],
    ['size=-5', 'size'],
    ['size=ten', 'size'],
    ['limit=-1', 'limit'],
    ['limit=x', 'limit'],
    ['limit=10&page=1', 'limit'],
    ['limit=10&size=1', 'limit'],
    ['continue=abc&page=1', 'continue'],
    ['continue=abc', 'continue'],
    ['exactTotal=maybe', 'exactTotal'],
    ['resourceVersion=abc', 'resourceVersion'],
    ['resourceVersion=-1', 'resourceVersion'],
  ])('%s is a 400 that names %s', (query, field) => {
    expect(() => parse(query)).toThrow(
      expect.objectContaining({ code: 400, details: { causes: [expect.objectContaining({ field })] } }),
    );
  });

  test.each(['labelSelector=a%3D%3D%3Db', 'fieldSelector=spec.nope=1', 'sort=spec.nope', 'sort=spec.title,up'])(
    '%s is a 400',
    (query) => {
      expect(() => parse(query)).toThrow(expect.objectContaining({ code: 400 }));
    },
  );

  test.each([
    ['a match without a revision', 'resourceVersionMatch=Exact'],
    ['an unknown match', 'resourceVersion=5&resourceVersionMatch=Newest'],
    ['exactly any', 'resourceVersion=0&resourceVersionMatch=Exact'],
    ['sendInitialEvents on a list', 'sendInitialEvents=true'],
  ])('%s is a 422', (_reason, query) => {
    expect(() => parse(query)).toThrow(expect.objectContaining({ code: 422, reason: 'Invalid' }));
  });

  test('a continue token is only valid for its list', () => {
    const fingerprint = listFingerprint({
      resource,
      namespace: '',
      labelSelector: ['a=b'],
      fieldSelector: [],
      sort: ['spec.title'],
    });
    const after = { revision: 7, namespace: '', name: 'x', keys: ['T'], served: 2 };
    const token = encodeContinueToken(after, fingerprint);
    expect(parse(`labelSelector=a%3Db&sort=spec.title&limit=2&continue=${token}`).extent).toEqual({
      type: 'chunk',
      limit: 2,
      after,
      fingerprint,
    });
    expect(parse(`labelSelector=a%3Db&sort=spec.title&continue=${token}`).extent).toMatchObject({
      limit: 10_000,
      after,
    });
    expect(() => parse(`labelSelector=a%3Dc&sort=spec.title&limit=2&continue=${token}`)).toThrow(
      /belongs to another list/,
    );
    expect(() => parse(`labelSelector=a%3Db&limit=2&continue=${token}`)).toThrow(/belongs to another list/);
    expect(() => parse(`labelSelector=a%3Db&sort=spec.title&continue=${token}&resourceVersion=5`)).toThrow(
      /not allowed when using continue/,
    );
  });

  test.each([
    ['', { at: 0, exact: false }],
    ['resourceVersion=', { at: 0, exact: false }],
    ['resourceVersion=5', { at: 5, exact: false }],
    ['resourceVersion=5&resourceVersionMatch=NotOlderThan', { at: 5, exact: false }],
    ['resourceVersion=5&resourceVersionMatch=Exact', { at: 5, exact: true }],
    ['resourceVersion=99999999999999999999', { at: Number.MAX_SAFE_INTEGER, exact: false }],
  ])('%p requires %p', (query, revision) => {
    expect(parse(query).revision).toEqual(revision);
  });
});
