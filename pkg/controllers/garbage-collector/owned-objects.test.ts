import { expect, test } from '@jest/globals';
import {
  newForbidden,
  newUnknownPath,
  type ListOptions,
  type Reader,
  type ResourceType,
} from '#pkg/apimachinery/index';
import { hasOwner, ownedBy, readChunks } from './owned-objects.ts';

const type: ResourceType = {
  group: 'test.example.com',
  version: 'v1',
  kind: 'Page',
  plural: 'pages',
  namespaced: true,
  hasStatusSubresource: false,
};

/** Returns the lists one by one, and records the requests. */
function readerOf(...answers: (Error | { items: string[]; continue?: string })[]): {
  reader: Reader;
  asked: (ListOptions | undefined)[];
} {
  const asked: (ListOptions | undefined)[] = [];
  const list = (_type: ResourceType, options?: ListOptions): Promise<unknown> => {
    asked.push(options);
    const answer = answers.shift()!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ resourceVersion: '1', ...answer });
  };
  return { reader: { list } as unknown as Reader, asked };
}

async function read(reader: Reader): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of readChunks(reader, type, { fieldSelector: ownedBy(['u', 'v']) })) chunks.push(chunk);
  return chunks;
}

test('dependents are read to the last chunk, also after an empty one', async () => {
  const { reader, asked } = readerOf({ items: ['a'], continue: '1' }, { items: [], continue: '2' }, { items: ['b'] });
  expect(await read(reader)).toEqual([['a'], ['b']]);
  expect(asked).toEqual(
    [undefined, '1', '2'].map((each) => ({
      limit: 500,
      fieldSelector: `${hasOwner} in (u,v)`,
      ...(each === undefined ? {} : { continue: each }),
    })),
  );
});

test('a type that is not served, or no longer, has no more dependents', async () => {
  expect(await read(readerOf(newUnknownPath()).reader)).toEqual([]);
  expect(await read(readerOf({ items: ['a'], continue: '1' }, newUnknownPath()).reader)).toEqual([['a']]);
});

test('any other failure is thrown', async () => {
  const refusal = newForbidden({ group: type.group, resource: type.plural }, '', 'no');
  await expect(read(readerOf(refusal).reader)).rejects.toBe(refusal);
});
