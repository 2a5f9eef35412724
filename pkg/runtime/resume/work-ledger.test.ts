import { describe, expect, test } from '@jest/globals';
import { WorkLedger } from './work-ledger.ts';

/** The open work as plain values. */
function open(
  ledger: WorkLedger,
  most = 10,
  found: readonly string[] = [],
): { requests: Record<string, number>; before: bigint | undefined; isComplete: boolean } | undefined {
  const work = ledger.open(most, (key) => found.includes(key));
  return work === undefined ? undefined : { ...work, requests: Object.fromEntries(work.requests) };
}

describe('the ledger of a controller', () => {
  test('closes a request with a reconcile that began after it was made, and with no other', () => {
    const ledger = new WorkLedger();
    ledger.ask('/a', 5n);
    ledger.begin('/a');
    ledger.ask('/a', 6n);
    expect(open(ledger)?.requests).toEqual({ '/a': 0 });
    ledger.settle('/a');
    expect(open(ledger)?.requests).toEqual({ '/a': 0 });
    ledger.begin('/a');
    ledger.settle('/a');
    expect(open(ledger)).toEqual({ requests: {}, before: undefined, isComplete: true });
  });

  test('keeps failed requests open, with the oldest change that caused them', () => {
    const ledger = new WorkLedger();
    ledger.ask('/a', 5n);
    ledger.begin('/a');
    ledger.ask('/a', 9n);
    ledger.fail('/a');
    expect(open(ledger, 0)).toEqual({ requests: {}, before: 5n, isComplete: true });
  });

  test('keeps delayed requests open, with their time', () => {
    const ledger = new WorkLedger();
    ledger.ask('/a', 5n);
    ledger.begin('/a');
    ledger.settle('/a');
    ledger.ask('/a', 0n, 1234);
    expect(open(ledger)?.requests).toEqual({ '/a': 1234 });
    ledger.ask('/a', 8n);
    expect(open(ledger)?.requests).toEqual({ '/a': 0 });
  });

  test('names as many as it can; of too many, the oldest change holds back the rest', () => {
    const ledger = new WorkLedger();
    for (const [key, since] of [
      ['/a', 7n],
      ['/b', 5n],
      ['/c', 9n],
    ] as const)
      ledger.ask(key, since);
    ledger.ask('/timer', 0n, 99);
    ledger.begin('/b');
    expect(open(ledger, 4)).toEqual({
      requests: { '/a': 0, '/b': 0, '/c': 0, '/timer': 99 },
      before: undefined,
      isComplete: true,
    });
    expect(open(ledger, 3)).toEqual({ requests: { '/timer': 99 }, before: 5n, isComplete: true });
  });

  test('of too many without a change, names those that a reconcile of all objects would not find', () => {
    const ledger = new WorkLedger();
    for (const key of ['/a', '/b', '/c']) ledger.ask(key, 0n, 1);
    expect(open(ledger, 2, ['/a', '/c'])).toEqual({ requests: { '/b': 1 }, before: undefined, isComplete: false });
    expect(open(ledger, 3, ['/a', '/c'])?.isComplete).toBe(true);
  });

  test('has no result if neither a change nor an object stands for too many', () => {
    const ledger = new WorkLedger();
    for (const key of ['/a', '/b', '/c']) ledger.ask(key, 0n, 1);
    expect(open(ledger, 2)).toBeUndefined();
  });

  test('a change also stands for a key that is requested without one', () => {
    const ledger = new WorkLedger();
    ledger.ask('/a', 0n, 1234);
    ledger.ask('/a', 7n);
    ledger.ask('/a', 0n);
    expect(open(ledger, 0)).toEqual({ requests: {}, before: 7n, isComplete: true });
  });
});
