import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import type { JsonObject, JsonValue } from '../meta/object.ts';
import { isStatusError } from '../status/status-error.ts';
import { checkMetadataShape } from './metadata-shape.ts';

const object = (metadata: JsonValue): JsonObject => ({ apiVersion: 'blog.example.com/v1', kind: 'Post', metadata });

describe('checkMetadataShape', () => {
  test('prunes unknown fields, treats null as absent, and accepts timestamps in any form', () => {
    const post = object({
      name: 'a',
      extra: 1,
      creationTimestamp: null,
      deletionTimestamp: '2026-01-31T09:30:00.000Z',
      labels: { a: 'b', c: null },
      annotations: null,
      ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u', other: {} }],
      managedFields: [{ manager: 'm', time: '2026-01-31T11:30:00+02:00', fieldsV1: { 'f:spec': {} } }],
    });
    expect(checkMetadataShape(post)).toEqual(['metadata.extra', 'metadata.ownerReferences[0].other']);
    expect(post['metadata']).toStrictEqual({
      name: 'a',
      deletionTimestamp: '2026-01-31T09:30:00Z',
      labels: { a: 'b', c: '' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u' }],
      managedFields: [{ manager: 'm', time: '2026-01-31T09:30:00Z', fieldsV1: { 'f:spec': {} } }],
    });
  });

  test('accepts an object without metadata', () => {
    expect(checkMetadataShape({})).toEqual([]);
    const empty: JsonObject = { metadata: null };
    expect(checkMetadataShape(empty)).toEqual([]);
    expect(empty).toEqual({});
  });

  test.each<[JsonValue, string]>([
    [1, 'cannot unmarshal number as object into field ObjectMeta.metadata'],
    [[], 'cannot unmarshal array as object into field ObjectMeta.metadata'],
    [{ name: 1 }, 'cannot unmarshal number as string into field ObjectMeta.metadata.name'],
    [{ labels: ['a'] }, 'cannot unmarshal array as object into field ObjectMeta.metadata.labels'],
    [{ labels: { 'a.b/c': true } }, 'cannot unmarshal boolean as string into field ObjectMeta.metadata.labels[a.b/c]'],
    [{ finalizers: 'a' }, 'cannot unmarshal string as array into field ObjectMeta.metadata.finalizers'],
    [{ finalizers: ['a', {}] }, 'cannot unmarshal object as string into field ObjectMeta.metadata.finalizers[1]'],
    [{ resourceVersion: 7 }, 'cannot unmarshal number as string into field ObjectMeta.metadata.resourceVersion'],
    [{ generation: 1.5 }, 'cannot unmarshal number as integer into field ObjectMeta.metadata.generation'],
    [
      { creationTimestamp: 'yesterday' },
      'cannot parse the string as an RFC 3339 timestamp into field ObjectMeta.metadata.creationTimestamp',
    ],
    [
      { ownerReferences: [{ controller: 'yes' }] },
      'cannot unmarshal string as boolean into field ObjectMeta.metadata.ownerReferences[0].controller',
    ],
    [
      { managedFields: [{ fieldsV1: [] }] },
      'cannot unmarshal array as object into field ObjectMeta.metadata.managedFields[0].fieldsV1',
    ],
  ])('%j is refused', (metadata, message) => {
    try {
      checkMetadataShape(object(metadata));
    } catch (error) {
      expect(error).toMatchObject({
        code: 400,
        message: `Post in version "v1" cannot be handled as a Post: json: ${message}`,
      });
      return;
    }
    throw new Error('nothing was thrown');
  });

  test('handles any JSON', () => {
    const key = fc.constantFrom(
      'name',
      'labels',
      'finalizers',
      'ownerReferences',
      'managedFields',
      'creationTimestamp',
      'toString',
      'x',
    );
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true })),
        fc.jsonValue(),
        (metadata, kind) => {
          try {
            checkMetadataShape({ kind: kind as JsonValue, apiVersion: 'v1', metadata: metadata as JsonValue });
          } catch (error) {
            expect(isStatusError(error, 'BadRequest')).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
