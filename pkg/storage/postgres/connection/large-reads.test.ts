import { expect, test } from '@jest/globals';
import { LargeReads } from './large-reads.ts';

/** Reads that the test ends, and the order in which they began. */
class Reads {
  readonly begun: string[] = [];
  readonly large: LargeReads;
  readonly #ends = new Map<string, (error?: Error) => void>();
  readonly outcomes = new Map<string, Promise<unknown>>();

  constructor(limit: number) {
    this.large = new LargeReads(limit);
  }

  ask(owner: string | undefined, ...names: string[]): void {
    for (const name of names)
      this.outcomes.set(
        name,
        this.large.run({ owner, bytes: 1000 }, () => this.#read(name)).catch((error: unknown) => error),
      );
  }

  async end(name: string, error?: Error): Promise<unknown> {
    this.#ends.get(name)!(error);
    return this.outcomes.get(name);
  }

  #read(name: string): Promise<string> {
    this.begun.push(name);
    return new Promise((resolve, reject) =>
      this.#ends.set(name, (error) => (error === undefined ? resolve(name) : reject(error))),
    );
  }
}

async function untilBegun(reads: Reads, count: number): Promise<void> {
  while (reads.begun.length < count) await new Promise(setImmediate);
}

test('at most the limit runs at a time, and a failed read releases its slot', async () => {
  const reads = new Reads(2);
  reads.ask('a', 'a1', 'a2', 'a3', 'a4');
  await untilBegun(reads, 2);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(reads.begun).toEqual(['a1', 'a2']);
  const lost = new Error('lost');
  expect(await reads.end('a2', lost)).toBe(lost);
  await untilBegun(reads, 3);
  expect(await reads.end('a1')).toBe('a1');
  await untilBegun(reads, 4);
  expect(reads.begun).toEqual(['a1', 'a2', 'a3', 'a4']);
  await Promise.all([reads.end('a3'), reads.end('a4')]);
  // All slots are free again.
  reads.ask(undefined, 'b1', 'b2');
  await untilBegun(reads, 6);
});

test('owners take turns, and the reads of each run in order', async () => {
  const reads = new Reads(1);
  reads.ask('a', 'a1', 'a2', 'a3', 'a4');
  await untilBegun(reads, 1);
  reads.ask('b', 'b1', 'b2');
  reads.ask(undefined, 'c1');
  for (let ended = 0; ended < 7; ended += 1) {
    await untilBegun(reads, ended + 1);
    await reads.end(reads.begun[ended]!);
  }
  expect(reads.begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});
