import { expect, test } from '@jest/globals';
import type { AuditPosition, StoredAuditRecord } from './audit-log.ts';
import { searchAuditLog, type AuditSpan, type AuditSpanReader } from './search-log.ts';
import { sampleAuditRecord } from '../testenv/sample-audit-record.ts';

const hourMs = 3_600_000;
const newestRow = Date.parse('2026-01-31T09:30:00Z');

const recordOf = (ageHours: number, id = `${ageHours}`): StoredAuditRecord =>
  sampleAuditRecord({
    id,
    at: new Date(newestRow - ageHours * hourMs).toISOString().replace('Z', '000Z'),
  });

/** A log whose statements time out above `longestMs`; it notes the lengths of the spans that it read, in hours. */
class Rows implements AuditSpanReader {
  readonly read: number[] = [];
  readonly #rows: readonly StoredAuditRecord[];
  readonly #longestMs: number;

  constructor(rows: readonly StoredAuditRecord[], longestMs = Infinity) {
    this.#rows = rows;
    this.#longestMs = longestMs;
  }

  readBounds(): Promise<{ oldest: number; newest: number } | undefined> {
    const times = this.#rows.map(({ at }) => Date.parse(at));
    return Promise.resolve(times.length === 0 ? undefined : { oldest: Math.min(...times), newest: Math.max(...times) });
  }

  readSpan({ oldest, newest, limit, after }: AuditSpan): Promise<StoredAuditRecord[]> {
    if (newest - oldest > this.#longestMs) return Promise.reject(new Error('timeout'));
    this.read.push((newest - oldest) / hourMs);
    const isIn = ({ at, id }: StoredAuditRecord): boolean =>
      Date.parse(at) >= oldest &&
      Date.parse(at) < newest &&
      (after === undefined || Date.parse(at) < Date.parse(after.at) || (at === after.at && id < after.id));
    return Promise.resolve(this.#rows.filter(isIn).slice(0, limit));
  }

  isTimeout(error: unknown): boolean {
    return (error as Error).message === 'timeout';
  }
}

async function searchAll(rows: Rows, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let after: AuditPosition | undefined; ;) {
    const page = await searchAuditLog(rows, { selectors: {}, limit, ...(after === undefined ? {} : { after }) });
    expect(page.records.length).toBeLessThanOrEqual(limit);
    found.push(...page.records.map(({ id }) => id));
    if (page.next === undefined) return found;
    after = page.next;
  }
}

test('of an empty log there is nothing', async () => {
  expect(await searchAuditLog(new Rows([]), { selectors: {}, limit: 5 })).toEqual({ records: [] });
});

test('it searches longer and longer spans, up to the oldest row', async () => {
  const rows = new Rows([recordOf(0), recordOf(24 * 100)]);
  expect(await searchAll(rows, 10)).toEqual(['0', '2400']);
  expect(rows.read.slice(0, 4)).toEqual([24, 48, 96, 192]);
  expect(rows.read.reduce((sum, hours) => sum + hours, 0)).toBeCloseTo(2400, 0);
});

test('a span that is too long for one statement is searched in shorter ones', async () => {
  const ages = [0, 1, 5, 30, 100, 101, 500];
  expect(
    await searchAll(
      new Rows(
        ages.map((age) => recordOf(age)),
        2 * hourMs,
      ),
      2,
    ),
  ).toEqual(ages.map(String));
});

test('an error that is no timeout, and a timeout of the shortest span, are the error of the search', async () => {
  const rows = new Rows([recordOf(0), recordOf(1)], 1);
  await expect(searchAll(rows, 5)).rejects.toThrow('timeout');
});

test.each([1, 2, 3, 7])('pages of %d rows have each row once', async (limit) => {
  const sameTime = ['d', 'c', 'b', 'a'].map((id) => recordOf(25, id));
  const rows = [recordOf(0), recordOf(24), ...sameTime, recordOf(26)];
  expect(await searchAll(new Rows(rows), limit)).toEqual(['0', '24', 'd', 'c', 'b', 'a', '26']);
});

test('from and to are kept', async () => {
  const rows = new Rows([0, 1, 2, 3].map((age) => recordOf(age)));
  const { records } = await searchAuditLog(rows, {
    selectors: {},
    limit: 10,
    from: newestRow - 2 * hourMs,
    to: newestRow,
  });
  expect(records.map(({ id }) => id)).toEqual(['1', '2']);
});
