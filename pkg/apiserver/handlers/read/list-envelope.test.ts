import { describe, expect, test } from '@jest/globals';
import { decodeYaml, type Model } from '#pkg/apimachinery/index';
import type { Representation, ServedResource } from '../../rest/served-resource.ts';
import type { AnswerFormat } from '../answer/answer-format.ts';
import {
  listEnvelope,
  listPieces,
  pageFields,
  wholePageFields,
  type ListMetadata,
  type PageFields,
} from './list-envelope.ts';

const served = {
  model: { group: 'blog.example.com', names: { kind: 'Post', listKind: 'PostList' } } as Model,
  version: { name: 'v1' },
} as ServedResource;
const json: AnswerFormat = { type: 'application/json', projection: 'whole', dropsManaged: false };
const yaml: AnswerFormat = { type: 'application/yaml', projection: 'whole', dropsManaged: false };

function item(name: string): Representation {
  const object = {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: { name },
    spec: { title: `a: "${name}"\n- b` },
  };
  return { namespace: '', name, revision: 1, text: JSON.stringify(object), managed: '' };
}

async function textOf(
  format: AnswerFormat,
  items: Representation[],
  metadata: ListMetadata,
  fields?: PageFields,
): Promise<string> {
  let text = '';
  const told = fields === undefined ? undefined : (): PageFields => fields;
  for await (const piece of listPieces(listEnvelope(served, format), metadata, inBatches(items), told)) text += piece;
  return text;
}

async function* inBatches(items: Representation[]): AsyncGenerator<Representation[]> {
  for (let from = 0; from < items.length; from += 50) yield items.slice(from, from + 50);
}

describe('list envelope', () => {
  test('has the fields of the contract, in order', async () => {
    expect(await textOf(json, [], { resourceVersion: '7' }, wholePageFields(0))).toBe(
      '{"apiVersion":"blog.example.com/v1","kind":"PostList","metadata":{"resourceVersion":"7"},"items":[],' +
        '"page":1,"size":0,"total":0,"totalPages":0,"first":true,"last":true,"hasNext":false,"hasPrevious":false}',
    );
    expect(await textOf(json, [], { resourceVersion: '7', continue: 'abc', remainingItemCount: 3 })).toBe(
      '{"apiVersion":"blog.example.com/v1","kind":"PostList","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":3},"items":[]}',
    );
  });

  test.each([0, 1, 2, 50, 51, 120])('has the same %i items in JSON and YAML', async (size) => {
    const items = Array.from({ length: size }, (_, i) => item(`p${i}`));
    const fields = wholePageFields(size);
    const expected = {
      apiVersion: 'blog.example.com/v1',
      kind: 'PostList',
      metadata: { resourceVersion: '7' },
      items: items.map(({ text }) => JSON.parse(text) as unknown),
      ...fields,
    };
    expect(JSON.parse(await textOf(json, items, { resourceVersion: '7' }, fields))).toEqual(expected);
    expect(decodeYaml(Buffer.from(await textOf(yaml, items, { resourceVersion: '7' }, fields))).value).toEqual(
      expected,
    );
  });

  test('has only metadata if the request asks for it', async () => {
    const list = JSON.parse(
      await textOf({ ...json, projection: 'metadata' }, [item('a')], { resourceVersion: '7' }),
    ) as unknown;
    expect(list).toEqual({
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadataList',
      metadata: { resourceVersion: '7' },
      items: [{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'a' } }],
    });
  });

  const exact = { totalIsLowerBound: false };
  test.each([
    [
      'the first of three',
      pageFields(1, 2, { total: 5, hasNext: true, ...exact }),
      { totalPages: 3, first: true, last: false, hasNext: true, hasPrevious: false },
    ],
    [
      'the last',
      pageFields(3, 2, { total: 5, hasNext: false, ...exact }),
      { totalPages: 3, first: false, last: true, hasNext: false, hasPrevious: true },
    ],
    [
      'past the end',
      pageFields(9, 2, { total: 5, hasNext: false, ...exact }),
      { totalPages: 3, first: false, last: true, hasNext: false, hasPrevious: true },
    ],
    [
      'nothing found',
      pageFields(1, 20, { total: 0, hasNext: false, ...exact }),
      { totalPages: 0, first: true, last: true, hasNext: false, hasPrevious: false },
    ],
    [
      'nothing found, later page',
      pageFields(4, 20, { total: 0, hasNext: false, ...exact }),
      { totalPages: 0, first: true, last: true, hasNext: false, hasPrevious: false },
    ],
    ['not paged', wholePageFields(3), { page: 1, size: 3, total: 3, totalPages: 1, first: true, last: true }],
    [
      'a bound',
      pageFields(1, 20, { total: 10_000, hasNext: true, totalIsLowerBound: true }),
      { total: 10_000, totalIsLowerBound: true },
    ],
  ])('page fields: %s', (_reason, fields, expected) => {
    expect(fields).toMatchObject(expected);
    expect('totalIsLowerBound' in fields).toBe('totalIsLowerBound' in expected);
  });
});
