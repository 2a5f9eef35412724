import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from './manual-clock.ts';
import { ItemBackoff } from './rate-limiter.ts';
import { WorkQueue } from './work-queue.ts';

const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key: keys }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('addAfter' as const), key: keys, ms: fc.integer({ min: 0, max: 40 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'fail' as const), worker: fc.nat({ max: 2 }) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 30 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('close' as const) }) },
  ),
  { maxLength: 80 },
);

/** Workers as in a controller: each waits for a key, works on it until the test ends that, and takes the next. */
class Workers {
  /** The key that each worker works on. */
  readonly at: (string | undefined)[];
  over = 0;
  readonly #queue: WorkQueue;
  readonly #ends: (() => void)[] = [];

  constructor(queue: WorkQueue, count: number, onTake: (key: string) => void) {
    this.#queue = queue;
    this.at = Array.from({ length: count }, () => undefined);
    for (let i = 0; i < count; i += 1) void this.#work(i, onTake);
  }

  end(worker: number, failed: boolean): void {
    const key = this.at[worker];
    if (key === undefined) return;
    this.at[worker] = undefined;
    if (failed) this.#queue.addRateLimited(key);
    else this.#queue.forget(key);
    this.#queue.done(key);
    this.#ends[worker]!();
  }

  async #work(worker: number, onTake: (key: string) => void): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      onTake(key);
      this.at[worker] = key;
      await new Promise<void>((resolve) => (this.#ends[worker] = resolve));
    }
    this.over += 1;
  }
}

/** Lets pending promises settle. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
}

test('in any order of requests: no key is processed twice at a time, none is lost, no worker is idle while one waits', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const clock = new ManualClock();
      const queue = new WorkQueue({ clock, limiter: new ItemBackoff({ jitter: 0, maxMs: 40 }) });
      /** Keys that were added and not taken since. */
      const owed = new Set<string>();
      const due = new Map<string, number>();
      let isClosed = false;
      const workers = new Workers(queue, 3, (key) => {
        expect(workers.at).not.toContain(key);
        owed.delete(key);
      });
      const schedule = (key: string, ms: number): void =>
        void due.set(key, Math.min(due.get(key) ?? Infinity, clock.now() + ms));
      let closing = Promise.resolve();
      await settle();
      for (const step of sequence) {
        if (step.do === 'add') {
          if (!isClosed) owed.add(step.key);
          queue.add(step.key);
        } else if (step.do === 'addAfter') {
          // Without a delay the key is added now, and again when an earlier delay ends.
          if (!isClosed && step.ms === 0) owed.add(step.key);
          else if (!isClosed) schedule(step.key, step.ms);
          queue.addAfter(step.key, step.ms);
        } else if (step.do === 'advance') {
          clock.advance(step.ms);
        } else if (step.do === 'close') {
          isClosed = true;
          owed.clear();
          due.clear();
          closing = queue.close();
        } else {
          const key = workers.at[step.worker];
          const delay = key === undefined ? 0 : Math.min(40, 5 * 2 ** queue.failures(key));
          if (key !== undefined && step.do === 'fail' && !isClosed) schedule(key, delay);
          workers.end(step.worker, step.do === 'fail');
        }
        for (const [key, at] of due) {
          if (at > clock.now()) continue;
          due.delete(key);
          owed.add(key);
        }
        await settle();
        const idle = workers.at.filter((key) => key === undefined).length;
        // A key in work was added again since, and waits for the end of its work.
        const waiting = Array.from(owed).filter((key) => !workers.at.includes(key));
        expect(queue.length).toBe(waiting.length);
        if (!isClosed && idle > 0) expect(waiting).toEqual([]);
        if (due.size === 0) expect(clock.pending).toBe(0);
      }
      closing = queue.close();
      for (const worker of [0, 1, 2]) workers.end(worker, true);
      await closing;
      await settle();
      expect(workers.over).toBe(3);
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 300 },
  );
});
