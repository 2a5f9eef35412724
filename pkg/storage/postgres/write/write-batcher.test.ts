import { expect, test } from '@jest/globals';
import type { Fence } from '#pkg/apimachinery/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { createOf, sampleModel, sampleObject, widgetIndexes } from '../../storetest/sample-model.ts';
import type { PendingWrite } from './batch-runner.ts';
import { leaseResource } from '../table/lease-fence.ts';
import { toOperation } from './batch-operation.ts';
import type { Table } from '../table/table.ts';
import { WriteBatcher } from './write-batcher.ts';

/** Records the writes of each batch; the test ends each batch. */
class Sent {
  readonly batches: string[][] = [];
  #ends: (() => void)[] = [];

  run(writes: readonly PendingWrite[]): Promise<void> {
    this.batches.push(writes.map(({ operation }) => operation.name));
    return new Promise((resolve) => this.#ends.push(resolve));
  }

  /** Ends each batch until `count` batches were sent. */
  async until(count: number): Promise<string[][]> {
    for (;;) {
      await pollUntil(() => this.#ends.length > 0 || this.batches.length >= count);
      if (this.batches.length >= count) break;
      this.#ends.pop()!();
    }
    return this.batches;
  }

  end(): void {
    for (const end of this.#ends.splice(0)) end();
  }
}

const model = sampleModel('widgets', { indexes: [widgetIndexes.slug] });
const table = (id: number, more: Partial<Table> = {}): Table => ({
  id,
  resource: { group: 'store.example.com', resource: 'widgets' },
  namespaced: false,
  shape: 1,
  replaces: 0,
  ownersIndexed: true,
  hasManaged: true,
  limited: false,
  columns: [{ name: 'i_1', index: widgetIndexes.slug, state: 'ready' }],
  computed: undefined,
  ...more,
});
const failures: unknown[] = [];

function writeOf(
  name: string,
  {
    slug,
    size,
    id = 1,
    fence,
    since = performance.now(),
    of = table(id),
    namespace,
  }: { slug?: string; size?: number; id?: number; fence?: Fence; since?: number; of?: Table; namespace?: string } = {},
): PendingWrite {
  const object = sampleObject(name, {
    ...(namespace === undefined ? {} : { namespace }),
    spec: slug === undefined ? {} : { slug },
  });
  const operation = toOperation(createOf(model, object), of, fence === undefined ? {} : { fence });
  return {
    since,
    operation: size === undefined ? operation : { ...operation, size },
    prepare: () => Promise.resolve(operation),
    done: () => undefined,
    failed: (error) => failures.push(error),
  };
}

function begin(outageLimitMs = 60_000): { sent: Sent; batcher: WriteBatcher } {
  const sent = new Sent();
  return { sent, batcher: new WriteBatcher(sent, outageLimitMs) };
}

test('writes of one turn are one batch, and those that arrive during a batch are the next', async () => {
  const { sent, batcher } = begin();
  for (const name of ['a', 'b']) batcher.add(writeOf(name));
  expect(sent.batches).toEqual([]);
  await sent.until(1);
  for (const name of ['c', 'd']) batcher.add(writeOf(name));
  expect([sent.batches, batcher.queueLength]).toEqual([[['a', 'b']], 2]);
  expect(await sent.until(2)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect([batcher.queueLength, batcher.queueBytes]).toEqual([0, 0]);
});

test('small writes wait for one large statement at most, and large ones for one batch of small ones', async () => {
  const { sent, batcher } = begin();
  for (const name of ['large-1', 'large-2', 'large-3']) batcher.add(writeOf(name, { size: 5_000_000 }));
  await sent.until(1);
  batcher.add(writeOf('a'));
  await sent.until(2);
  for (const name of ['b', 'c']) batcher.add(writeOf(name));
  expect(await sent.until(5)).toEqual([['large-1'], ['a'], ['large-2'], ['b', 'c'], ['large-3']]);
});

const fence = (lease: string, transitions = 1): Fence => ({ namespace: 'svc-system', lease, transitions });
const leaseTable = table(9, { resource: leaseResource, namespaced: true, columns: [] });
const leaseWrite = (name: string): PendingWrite => writeOf(name, { of: leaseTable, namespace: 'svc-system' });

test.each<[string, PendingWrite[], string[][]]>([
  [
    'one object at most once, in the order of its writes',
    [writeOf('a'), writeOf('b'), writeOf('a'), writeOf('a'), writeOf('c')],
    [['a', 'b', 'c'], ['a'], ['a']],
  ],
  [
    'objects of one name of several models and namespaces',
    [writeOf('a'), writeOf('a', { id: 2 }), writeOf('a', { namespace: 'n' })],
    [['a', 'a', 'a']],
  ],
  [
    'a unique value at most once',
    [
      writeOf('a', { slug: 's' }),
      writeOf('b', { slug: 's' }),
      writeOf('c', { slug: 't' }),
      writeOf('d', { slug: 's', id: 2 }),
    ],
    [['a', 'c', 'd'], ['b']],
  ],
  [
    'no write overtakes a waiting one',
    [writeOf('a', { slug: 's' }), writeOf('b', { slug: 's' }), writeOf('b')],
    [['a'], ['b'], ['b']],
  ],
  [
    'at most 256 writes',
    Array.from({ length: 300 }, (_, i) => writeOf(`o${i}`)),
    [Array.from({ length: 256 }, (_, i) => `o${i}`), Array.from({ length: 44 }, (_, i) => `o${256 + i}`)],
  ],
  [
    'at most a megabyte, filled up with smaller writes',
    [writeOf('a', { size: 600_000 }), writeOf('b', { size: 600_000 }), writeOf('c', { size: 400_000 })],
    [['a', 'c'], ['b']],
  ],
  ['a larger write alone', [writeOf('a'), writeOf('b', { size: 5_000_000 }), writeOf('c')], [['a', 'c'], ['b']]],
  [
    'at most eight models',
    Array.from({ length: 10 }, (_, i) => writeOf(`o${i}`, { id: i + 1 })),
    [Array.from({ length: 8 }, (_, i) => `o${i}`), ['o8', 'o9']],
  ],
  [
    'writes with different fences',
    [
      writeOf('a', { fence: fence('l') }),
      writeOf('b', { fence: fence('m') }),
      writeOf('c', { fence: fence('l', 2) }),
      writeOf('d', { fence: fence('l') }),
      writeOf('e'),
    ],
    [['a', 'b', 'c', 'd', 'e']],
  ],
  [
    'at most 32 fences',
    Array.from({ length: 34 }, (_, i) => writeOf(`f${i}`, { fence: fence(`l${i}`) })),
    [Array.from({ length: 32 }, (_, i) => `f${i}`), ['f32', 'f33']],
  ],
  [
    'no fenced write together with a write of its lease',
    [leaseWrite('l'), writeOf('a', { fence: fence('l') }), writeOf('b')],
    [['l', 'b'], ['a']],
  ],
  [
    'no write of a lease together with writes that it fences',
    [writeOf('a', { fence: fence('l') }), leaseWrite('l'), leaseWrite('m')],
    [['a', 'm'], ['l']],
  ],
])('a batch holds %s', async (_rule, writes, batches) => {
  const { sent, batcher } = begin();
  for (const write of writes) batcher.add(write);
  expect(await sent.until(batches.length)).toEqual(batches);
});

test.each<[string, () => PendingWrite, number]>([
  ['writes', () => writeOf('a'), 10_000],
  ['bytes', () => writeOf('a', { size: 32 * 1024 * 1024 }), 4],
])('too many %s are not taken', (_of, write, taken) => {
  const { batcher } = begin();
  const one = write();
  for (let i = 0; i < taken; i += 1) batcher.add(one);
  expect(() => batcher.add(one)).toThrow(expect.objectContaining({ code: 'Overloaded' }));
  expect([batcher.queueLength, batcher.queueBytes]).toEqual([taken, taken * one.operation.size]);
});

test('a write that waited longer than the outage limit is refused and not sent', async () => {
  const { sent, batcher } = begin(60_000);
  const now = performance.now();
  batcher.add(writeOf('old', { since: now - 61_000 }));
  batcher.add(writeOf('young', { since: now }));
  failures.length = 0;
  expect(await sent.until(1)).toEqual([['young']]);
  expect(failures).toMatchObject([{ code: 'Unavailable' }]);
});

test('after close it accepts nothing, and close ends when all waiting writes were sent', async () => {
  const { sent, batcher } = begin();
  batcher.add(writeOf('a'));
  batcher.add(writeOf('a'));
  let isClosed = false;
  const closing = batcher.close().then(() => (isClosed = true));
  expect(() => batcher.add(writeOf('b'))).toThrow(expect.objectContaining({ code: 'Unavailable' }));
  expect(await sent.until(2)).toEqual([['a'], ['a']]);
  expect(isClosed).toBe(false);
  sent.end();
  await closing;
});
