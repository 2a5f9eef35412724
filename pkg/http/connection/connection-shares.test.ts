import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { ConnectionShares } from './connection-limits.ts';

function fill(shares: ConnectionShares, counts: Record<string, number>): Map<Socket, string> {
  const names = new Map<Socket, string>();
  for (const [network, count] of Object.entries(counts)) {
    for (let i = 0; i < count; i += 1) {
      const socket = new Socket();
      names.set(socket, `${network}${i}`);
      shares.add(network, socket);
    }
  }
  return names;
}

test('if the client with most connections has no idle one, the next client gives one, with as many or fewer, even if very many of the first are busy', () => {
  for (const counts of [
    { a: 3, b: 3, c: 3 },
    { a: 4, b: 3, c: 2 },
    { a: 500, b: 400, c: 2 },
  ]) {
    const shares = new ConnectionShares();
    const names = fill(shares, counts);
    expect(names.get(shares.oldest((socket) => names.get(socket)!.startsWith('c'))!)).toBe('c0');
    expect(names.get(shares.oldest((socket) => !names.get(socket)!.startsWith('a'))!)).toMatch(/^b/);
  }
});

test('the client with most connections gives its oldest idle one, until another has more', () => {
  const shares = new ConnectionShares();
  const names = fill(shares, { a: 2, b: 4, c: 3 });
  const taken: string[] = [];
  for (let i = 0; i < 5; i += 1) {
    const socket = shares.oldest((each) => names.get(each) !== 'b0')!;
    taken.push(names.get(socket)!);
    shares.remove(names.get(socket)![0]!, socket);
  }
  expect(taken.slice(0, 2)).toEqual(['b1', expect.stringMatching(/^[bc]/)]);
  // After 4 of b, 3 of c and 2 of a, each has about the same number left.
  expect(['a', 'b', 'c'].map((network) => shares.countOf(network)).toSorted((a, b) => a - b)).toEqual([1, 1, 2]);
});

test('gives none if none is idle or there is none; later ones among very many busy ones are found eventually', () => {
  const shares = new ConnectionShares();
  expect(shares.oldest(() => true)).toBeUndefined();
  const names = fill(shares, { a: 200 });
  expect(shares.oldest(() => false)).toBeUndefined();
  const found = Array.from({ length: 8 }, () => shares.oldest((each) => names.get(each) === 'a150'));
  expect(found.filter((each) => each !== undefined).map((each) => names.get(each))).toContain('a150');
  for (const [socket] of names) shares.remove('a', socket);
  expect([shares.countOf('a'), shares.oldest(() => true)]).toEqual([0, undefined]);
});
