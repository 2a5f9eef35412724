import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { StatusError } from '#pkg/apimachinery/index';
import { Senders } from './senders.ts';

let now = 0;

afterEach(() => void jest.restoreAllMocks());

/** A fixed clock, and senders that record why they were cut off. */
function start(options: ConstructorParameters<typeof Senders>[0]): {
  senders: Senders;
  add: (network?: string) => ReturnType<Senders['add']>;
  cuts: number[];
} {
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const senders = new Senders(options);
  const cuts: number[] = [];
  let index = 0;
  const add = (network?: string): ReturnType<Senders['add']> => {
    const sender = senders.add(network);
    const own = (index += 1);
    sender.onCut = ({ code }) => void cuts.push(own * 1000 + code);
    return sender;
  };
  return { senders, add, cuts };
}

function refusalOf(work: () => unknown): string {
  try {
    work();
    return 'none';
  } catch (error) {
    return `${(error as StatusError).code} ${(error as StatusError).message}`;
  }
}

describe('arriving bodies', () => {
  test('of one network: the slowest is cut off after its time, or the new one is refused', () => {
    const { add, cuts, senders } = start({ perAddress: 2 });
    add('a').received(1000);
    add('a');
    expect(refusalOf(() => add('a'))).toMatch(/^429 .*of one address/);
    expect(refusalOf(() => add('b'))).toBe('none');
    now = 1000;
    add('a');
    expect([cuts, senders.count]).toEqual([[2429], 3]);
  });

  test('of all anonymous clients take at most half', () => {
    const { add } = start({ total: 4 });
    add('a');
    add('b');
    expect(refusalOf(() => add('c'))).toMatch(/^429 too many bodies/);
    for (let i = 0; i < 2; i += 1) expect(refusalOf(() => add())).toBe('none');
  });

  test('of anonymous clients are cut off for a known user, and never the reverse', () => {
    const { add, cuts } = start({ total: 4 });
    for (let i = 0; i < 3; i += 1) add();
    add('a');
    now = 1000;
    add();
    expect(cuts).toEqual([4429]);
    expect(refusalOf(() => add('b'))).toMatch(/^429/);
  });

  test('release their slot once, when they end', () => {
    const { add, senders } = start({ total: 2, perAddress: 1 });
    const first = add('a');
    first.end();
    first.end();
    add('a');
    expect(senders.count).toBe(1);
  });

  test.each([
    { reason: 'no bytes', bytes: 0, ms: 5000, isCut: false },
    { reason: 'no bytes after the first period', bytes: 0, ms: 5020, isCut: true },
    { reason: 'less than the rate', bytes: 900, ms: 7000, isCut: true },
    { reason: 'the rate', bytes: 1000, ms: 7000, isCut: false },
    { reason: 'slowly, for a long time', bytes: 512_000, ms: 1_000_000, isCut: false },
  ])('are cut off if they arrive too slowly: $reason', ({ bytes, ms, isCut }) => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const { add, cuts } = start({ minBytesPerSecond: 500, graceMs: 5000 });
    add('a').received(bytes);
    now = ms;
    jest.advanceTimersByTime(1250);
    expect(cuts).toEqual(isCut ? [1408] : []);
    jest.useRealTimers();
  });
});
