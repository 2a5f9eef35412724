import { describe, expect, test } from '@jest/globals';
import type { JsonObject, JsonSchema, Model, ModelVersion } from '#pkg/apimachinery/index';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { checkStoredSize, VersionCodec } from './version-codec.ts';

const items = (count: number): JsonObject[] => Array.from({ length: count }, () => ({}));

function versionOf(name: string, properties: Record<string, JsonSchema>): ModelVersion {
  const list: JsonSchema = { type: 'array', items: { type: 'object', properties } };
  return {
    name,
    served: true,
    schema: { type: 'object', properties: { spec: list, note: { type: 'string', default: 'n' } } },
    subresources: {},
  } as unknown as ModelVersion;
}

function modelOf(...versions: ModelVersion[]): Model {
  return {
    group: 'a.example.com',
    names: { kind: 'A', plural: 'as' },
    versions,
    storageVersion: versions[0]!.name,
  } as unknown as Model;
}

function objectOf(spec: JsonObject[]): JsonApiObject {
  return { apiVersion: 'a.example.com/v1', kind: 'A', metadata: { name: 'a' }, spec };
}

const plain = versionOf('v1', {});
const dear = versionOf('v2', { a: { type: 'string', default: 'z'.repeat(1000) } });

describe('VersionCodec', () => {
  test('an object that is read has all defaults, or none if they would multiply its size', () => {
    const codec = new VersionCodec(modelOf(plain, dear), dear);
    const read = (count: number): JsonApiObject =>
      codec.decode({
        namespace: '',
        name: 'a',
        body: JSON.stringify(objectOf(items(count))),
        fingerprint: '',
        revision: 7,
      });
    expect(read(60)).toEqual({
      ...objectOf(items(60).map(() => ({ a: 'z'.repeat(1000) }))),
      apiVersion: 'a.example.com/v2',
      metadata: { name: 'a', resourceVersion: '7' },
      note: 'n',
    });
    expect(read(90)).toEqual({
      ...objectOf(items(90)),
      apiVersion: 'a.example.com/v2',
      metadata: { name: 'a', resourceVersion: '7' },
    });
  });

  test('so has an object that is converted for storage: it must stay deletable', () => {
    const codec = new VersionCodec(modelOf(dear, plain), plain);
    expect(codec.toStored(objectOf(items(2)))).toMatchObject({
      apiVersion: 'a.example.com/v2',
      note: 'n',
      spec: [{ a: expect.any(String) }, {}],
    });
    expect(codec.toStored(objectOf(items(2000)))).toEqual({ ...objectOf(items(2000)), apiVersion: 'a.example.com/v2' });
  });
});

describe('checkStoredSize', () => {
  const large = objectOf([{ a: 'x'.repeat(4 << 20) }]);

  test('refuses what is larger than 4 MiB', () => {
    expect(() => checkStoredSize(objectOf([{ a: 'x'.repeat(3 << 20) }]))).not.toThrow();
    expect(() => checkStoredSize(large)).toThrow('the object, defaults included, would be larger than 4194304 bytes');
    expect(() => checkStoredSize(objectOf([{ a: 'ü'.repeat(2 << 20) }]))).toThrow('larger than');
  });

  test('an object that was as large before may be changed', () => {
    expect(() => checkStoredSize(large, { body: JSON.stringify(large), revision: 1 })).not.toThrow();
    expect(() =>
      checkStoredSize(objectOf([{ a: 'x'.repeat((4 << 20) + 100) }]), {
        body: JSON.stringify(large),
        revision: 1,
      }),
    ).toThrow('larger than');
  });
});
