import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ApiObject, Stored } from '#pkg/apimachinery/index';
import { Indexer } from './indexer.ts';

type Post = ApiObject<{ tags: string[] }>;

function post(name: string, tags: string[], namespace?: string): Stored<Post> {
  return {
    apiVersion: 'blog.example.com/v1',
    kind: 'Post',
    metadata: {
      name,
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(namespace === undefined ? {} : { namespace }),
    },
    spec: { tags },
  };
}

const tagsOf = ({ spec }: Post): string[] => spec!.tags;

describe('an indexer', () => {
  test('keeps objects of one name in two namespaces apart', () => {
    const indexer = new Indexer<Post>();
    indexer.set(post('a', [], 'x'));
    indexer.set(post('a', [], 'y'));
    indexer.delete({ namespace: 'x', name: 'a' });
    expect(indexer.get({ namespace: 'x', name: 'a' })).toBeUndefined();
    expect(indexer.get({ namespace: 'y', name: 'a' })).toBeDefined();
  });

  test('changes nothing if an index function fails, and names the index and the object', () => {
    const indexer = new Indexer<Post>();
    indexer.addIndex('tag', tagsOf);
    indexer.set(post('a', ['x']));
    indexer.addIndex('first', ({ spec }) => [spec!.tags[0]!.toUpperCase()]);
    expect(() => indexer.set(post('a', []))).toThrow('the index first has no values for /a');
    expect([
      indexer.byIndex('tag', 'x').length,
      indexer.byIndex('first', 'X').length,
      indexer.get({ namespace: '', name: 'a' })?.spec?.tags,
    ]).toEqual([1, 1, ['x']]);
    expect(() =>
      indexer.addIndex('broken', () => {
        throw new Error('no');
      }),
    ).toThrow('the index broken has no values for /a');
    expect(() => indexer.byIndex('broken', 'x')).toThrow('there is no index named broken');
  });

  test('finds objects by an index that was added after them', () => {
    const indexer = new Indexer<Post>();
    indexer.set(post('a', ['news', 'home']));
    indexer.addIndex('tags', tagsOf);
    indexer.addIndex('tags', tagsOf);
    expect(indexer.byIndex('tags', 'home').map(({ metadata }) => metadata.name)).toEqual(['a']);
  });

  test('refuses a second index of the same name, and an unknown name', () => {
    const indexer = new Indexer<Post>();
    indexer.addIndex('tags', tagsOf);
    expect(() => indexer.addIndex('tags', () => [])).toThrow('another index named tags');
    expect(() => indexer.byIndex('author', 'mia')).toThrow('no index named author');
  });

  const tag = fc.constantFrom('news', 'home', 'sport');
  const steps = fc.array(
    fc.record({ name: fc.constantFrom('a', 'b', 'c'), tags: fc.option(fc.uniqueArray(tag), { nil: undefined }) }),
    { maxLength: 40 },
  );
  test('finds the same objects by index as by comparing all', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const indexer = new Indexer<Post>();
        indexer.addIndex('tags', tagsOf);
        for (const { name, tags } of sequence) {
          if (tags === undefined) indexer.delete({ namespace: '', name });
          else indexer.set(post(name, tags));
          for (const value of ['news', 'home', 'sport']) {
            const found = indexer.byIndex('tags', value).map(({ metadata }) => metadata.name);
            const searched = Array.from(indexer.all())
              .filter(({ spec }) => spec!.tags.includes(value))
              .map(({ metadata }) => metadata.name);
            expect(found.toSorted()).toEqual(searched.toSorted());
          }
        }
      }),
    );
  });
});
