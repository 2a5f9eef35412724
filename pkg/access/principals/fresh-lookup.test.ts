import { expect, test } from '@jest/globals';
import { FreshLookup } from './fresh-lookup.ts';

function newLookup(): {
  lookup: FreshLookup<string>;
  work: { key: string; end: (value: string) => void; fail: (error: Error) => void }[];
} {
  const work: { key: string; end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const lookup = new FreshLookup<string>((key) => new Promise((end, fail) => void work.push({ key, end, fail })));
  return { lookup, work };
}

const settle = (): Promise<void> => new Promise(setImmediate);

test('requests of one turn of the event loop share a lookup, which begins after all of them', async () => {
  const { lookup, work } = newLookup();
  const all = [lookup.get('a'), lookup.get('a')];
  await Promise.resolve();
  all.push(lookup.get('a'));
  expect(work).toHaveLength(0);
  await settle();
  work[0]!.end('a');
  expect(await Promise.all(all)).toEqual(['a', 'a', 'a']);
  expect(work).toHaveLength(1);
});

test('a request during a lookup waits for the next one, and shares it', async () => {
  const { lookup, work } = newLookup();
  const first = lookup.get('a');
  await settle();
  const others = [lookup.get('a'), lookup.get('a'), lookup.get('a')];
  expect(work).toHaveLength(1);
  work[0]!.end('old');
  expect(await first).toBe('old');
  await settle();
  expect(work).toHaveLength(2);
  work[1]!.end('new');
  expect(await Promise.all(others)).toEqual(['new', 'new', 'new']);
});

test('keys do not wait for each other, and nothing is cached', async () => {
  const { lookup, work } = newLookup();
  const both = [lookup.get('a'), lookup.get('b')];
  await settle();
  expect(work.map(({ key }) => key)).toEqual(['a', 'b']);
  work[1]!.end('b');
  work[0]!.end('a');
  expect(await Promise.all(both)).toEqual(['a', 'b']);
  const again = lookup.get('a');
  await settle();
  expect(work).toHaveLength(3);
  work[2]!.end('a again');
  expect(await again).toBe('a again');
});

test('a failure is shared by its requests, and the next request looks up again', async () => {
  const { lookup, work } = newLookup();
  const first = lookup.get('a');
  await settle();
  const second = lookup.get('a');
  work[0]!.fail(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await settle();
  work[1]!.end('back');
  expect(await second).toBe('back');
});
