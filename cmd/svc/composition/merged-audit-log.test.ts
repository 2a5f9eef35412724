import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AuditPage, AuditPosition, AuditQuery, StoredAuditRecord } from '#pkg/audit/index';
import { MergedAuditLog } from './merged-audit-log.ts';
import { sampleAuditRecord } from '../../../pkg/testenv/sample-audit-record.ts';

const recordOf = (id: string, second: number): StoredAuditRecord =>
  sampleAuditRecord({
    id,
    at: `2026-01-31T09:30:0${second}.000000Z`,
  });

/** A log that may give fewer rows than asked, as a long search does. */
class ShortLog {
  readonly records: readonly StoredAuditRecord[];
  readonly #pageSize: number;

  constructor(records: readonly StoredAuditRecord[], pageSize: number) {
    this.records = records.toSorted((a, b) => (`${a.at} ${a.id}` < `${b.at} ${b.id}` ? 1 : -1));
    this.#pageSize = pageSize;
  }

  list({ limit, after }: AuditQuery): Promise<AuditPage> {
    const isAfter = ({ at, id }: StoredAuditRecord): boolean =>
      after === undefined || `${at} ${id}` < `${after.at} ${after.id}`;
    const left = this.records.filter(isAfter);
    const records = left.slice(0, Math.min(limit, this.#pageSize));
    const last = records.at(-1);
    return Promise.resolve(
      last === undefined || records.length === left.length
        ? { records }
        : { records, next: { at: last.at, id: last.id, revision: 0 } },
    );
  }
}

const rows = (prefix: string): fc.Arbitrary<StoredAuditRecord[]> =>
  fc
    .array(fc.nat({ max: 4 }), { maxLength: 12 })
    .map((seconds) => seconds.map((second, i) => recordOf(`${prefix}${String(i).padStart(2, '0')}`, second)));

test('its pages have each row of all logs once, the newest first, however short the pages of a log are', async () => {
  await fc.assert(
    fc.asyncProperty(
      rows('a'),
      rows('b'),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      async (first, second, limit, pageSize) => {
        const merged = new MergedAuditLog(new ShortLog(first, pageSize), new ShortLog(second, 100));
        const found: string[] = [];
        for (let after: AuditPosition | undefined; ;) {
          const page = await merged.list({ selectors: {}, limit, ...(after === undefined ? {} : { after }) });
          expect(page.records.length).toBeLessThanOrEqual(limit);
          found.push(...page.records.map(({ id }) => id));
          if (page.next === undefined) break;
          after = page.next;
        }
        expect(found).toEqual(new ShortLog([...first, ...second], 100).records.map(({ id }) => id));
      },
    ),
  );
});
