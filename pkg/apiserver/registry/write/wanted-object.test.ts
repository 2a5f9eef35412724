import { describe, expect, test } from '@jest/globals';
import { isStatusError, type JsonObject, type JsonSchema, type Model, type StatusError } from '#pkg/apimachinery/index';
import type { ModelContext } from '../model/model-context.ts';
import type { WriteContext } from '../../rest/write-context.ts';
import type { JsonApiObject } from '../../rest/strategy.ts';
import { ObjectWrite } from './object-write.ts';
import { applyDefaults, copyWantedObject, pruneObject } from './wanted-object.ts';
import { writing } from '../registrytest/api-client.ts';
import { VersionCodec } from '../model/version-codec.ts';

function contextOf(spec: JsonSchema): ModelContext {
  const version = {
    name: 'v1',
    served: true,
    schema: { type: 'object', properties: { spec } } as JsonSchema,
    subresources: {},
  };
  const model = {
    group: 'a.example.com',
    names: { kind: 'A', plural: 'as' },
    versions: [version],
    storageVersion: 'v1',
  } as unknown as Model;
  return {
    model,
    version,
    codec: new VersionCodec(model, version as unknown as Model['versions'][number]),
  } as unknown as ModelContext;
}

function body(spec: JsonObject[string], metadata: JsonObject = {}): JsonObject {
  return { apiVersion: 'a.example.com/v1', kind: 'A', metadata: { name: 'a', ...metadata }, spec };
}

/** The steps from the body to the object that is prepared and validated. */
async function readWrittenObject(
  model: ModelContext,
  sent: JsonObject,
  context: WriteContext,
  old?: JsonObject,
): Promise<JsonApiObject> {
  const write = new ObjectWrite(model, context, { verb: 'create', namespace: '', body: sent });
  write.body = sent;
  write.old = old as JsonApiObject | undefined;
  copyWantedObject(write);
  pruneObject(write);
  applyDefaults(write);
  return write.object;
}

async function failureOf(run: () => Promise<unknown>): Promise<StatusError> {
  try {
    await run();
  } catch (error) {
    if (isStatusError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const list: JsonSchema = {
  type: 'array',
  items: { type: 'object', properties: { a: { type: 'string', default: 'z'.repeat(1000) } } },
};
const items = (count: number): JsonObject[] => Array.from({ length: count }, () => ({}));

describe('readBody', () => {
  test('is a copy, with the fields in the order they are stored in', async () => {
    const sent = { spec: [{ a: 'x' }], ...body([{ a: 'x' }]) };
    const read = await readWrittenObject(contextOf(list), sent, writing());
    expect(JSON.stringify(read)).toBe(
      '{"apiVersion":"a.example.com/v1","kind":"A","metadata":{"name":"a"},"spec":[{"a":"x"}]}',
    );
    expect(read['spec']).not.toBe(sent.spec);
  });

  test('refuses a body whose defaults multiply its size', async () => {
    expect(await failureOf(() => readWrittenObject(contextOf(list), body(items(2000)), writing()))).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: expect.stringContaining('they may add 1048576 bytes'),
    });
    const small: JsonSchema = {
      type: 'array',
      items: { type: 'object', properties: { a: { type: 'integer', default: 1 } } },
    };
    expect((await failureOf(() => readWrittenObject(contextOf(small), body(items(34_000)), writing()))).code).toBe(413);
    expect((await readWrittenObject(contextOf(small), body(items(33_000)), writing()))['spec']).toHaveLength(33_000);
  });

  test('a patched object has the same limit of values as a sent one; an object that had more before may keep them', async () => {
    const any = contextOf({ type: 'array', items: { type: 'object' } });
    const large = body(items(100_000));
    const larger = body(items(100_001));
    expect(await failureOf(() => readWrittenObject(any, large, writing()))).toMatchObject({
      code: 413,
      message: 'the object would hold more than 100000 values and keys',
    });
    expect((await readWrittenObject(any, large, writing(), large))['spec']).toHaveLength(100_000);
    expect((await failureOf(() => readWrittenObject(any, larger, writing(), large))).code).toBe(413);
  });

  test('counts labels before it validates them', async () => {
    const labels = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i]));
    expect(await failureOf(() => readWrittenObject(contextOf(list), body([], { labels }), writing()))).toMatchObject({
      code: 422,
      message: 'A.a.example.com "a" is invalid: metadata.labels: Too many: 300: must have at most 256 items',
    });
  });
});
