import { describe, expect, test } from '@jest/globals';
import { newExpired, newNotFound, newRequestEntityTooLarge } from '../status/status-error.ts';
import type { ObjectList } from './client.ts';
import { gatherList, type ChunkOptions } from './gather-list.ts';
import type { AnyObject } from './resource-type.ts';

type Chunk = ObjectList<AnyObject>;

/** A chunk of `total` objects; `continue` is the number of the next object. */
function chunkOf(total: number, { limit, continue: from = '0' }: ChunkOptions, resourceVersion = '7'): Chunk {
  const start = Number(from);
  const end = Math.min(total, start + limit);
  const items = Array.from({ length: end - start }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'A',
    metadata: { name: String(start + i) },
  })) as Chunk['items'];
  return { resourceVersion, items, ...(end < total ? { continue: String(end) } : {}) };
}

function names({ items }: Chunk): number[] {
  return items.map(({ metadata }) => Number(metadata.name));
}

const upTo = (total: number, from = 0): number[] => Array.from({ length: total - from }, (_, i) => from + i);

describe('without a limit', () => {
  test.each([
    ['nothing', 0, {}, []],
    ['less than a chunk', 3, {}, upTo(3)],
    ['exactly a chunk', 10, {}, upTo(10)],
    ['many chunks', 35, {}, upTo(35)],
    ['the rest of a list', 35, { continue: '12' }, upTo(35, 12)],
    ['a limit of 0', 35, { limit: 0 }, upTo(35)],
  ])('returns all objects: %s', async (_reason, total, options, expected) => {
    const list = await gatherList(options, 10, async (chunk) => chunkOf(total, chunk));
    expect(names(list)).toEqual(expected);
    expect(list.continue).toBeUndefined();
    expect(list.resourceVersion).toBe('7');
  });

  test('starts again, once, if its history is gone', async () => {
    const asked: string[] = [];
    let expires = 1;
    const fetch = async (chunk: ChunkOptions): Promise<Chunk> => {
      asked.push(chunk.continue ?? '');
      if (chunk.continue === '20' && expires > 0) {
        expires -= 1;
        throw newExpired('gone', 'inconsistent');
      }
      return chunkOf(25, chunk, expires === 0 ? '9' : '7');
    };
    const list = await gatherList({}, 10, fetch);
    expect(names(list)).toEqual(upTo(25));
    expect(list.resourceVersion).toBe('9');
    expect(asked).toEqual(['', '10', '20', '', '10', '20']);
    expires = 2;
    await expect(gatherList({}, 10, fetch)).rejects.toMatchObject({ reason: 'Expired' });
  });

  test('asks for fewer objects if a chunk is too large', async () => {
    const sizes: number[] = [];
    const list = await gatherList({}, 100, async (chunk) => {
      sizes.push(chunk.limit);
      if (chunk.limit > 7) throw newRequestEntityTooLarge('too large');
      return chunkOf(20, chunk);
    });
    expect(names(list)).toEqual(upTo(20));
    expect(sizes).toEqual([100, 25, 7, 7, 7]);
    const tooLarge = newRequestEntityTooLarge('one is too large');
    await expect(gatherList({}, 100, () => Promise.reject(tooLarge))).rejects.toBe(tooLarge);
  });
});

describe('with a limit', () => {
  test('returns one chunk', async () => {
    const list = await gatherList({ limit: 5, continue: '3' }, 10, async (chunk) => chunkOf(20, chunk));
    expect(names(list)).toEqual([3, 4, 5, 6, 7]);
    expect(list.continue).toBe('8');
  });

  test('returns a shorter chunk if one is too large', async () => {
    const list = await gatherList({ limit: 16 }, 10, async (chunk) => {
      if (chunk.limit > 4) throw newRequestEntityTooLarge('too large');
      return chunkOf(20, chunk);
    });
    expect(names(list)).toEqual(upTo(4));
    expect(list.continue).toBe('4');
  });

  test.each([
    ['expired', newExpired('gone')],
    ['not found', newNotFound({ group: '', resource: 'a' }, '')],
  ])('throws failures: %s', async (_reason, error) => {
    await expect(gatherList({ limit: 5, continue: '3' }, 10, () => Promise.reject(error))).rejects.toBe(error);
  });
});
