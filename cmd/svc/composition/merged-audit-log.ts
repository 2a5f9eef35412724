import { positionOf, type AuditLog, type AuditPage, type AuditPosition, type AuditQuery } from '#pkg/audit/index';

type Listed = Pick<AuditLog, 'list'>;

/** Several audit logs as one list, the newest first. */
export class MergedAuditLog implements Listed {
  readonly #logs: readonly Listed[];

  constructor(...logs: readonly Listed[]) {
    this.#logs = logs;
  }

  async list(query: AuditQuery): Promise<AuditPage> {
    const pages = await Promise.all(this.#logs.map((log) => log.list(query)));
    // A log with more rows may have some between its last one and those of another log.
    const ends = pages.flatMap(({ next }) => next ?? []).toSorted(compare);
    const end = ends.at(-1);
    const records = pages
      .flatMap((page) => page.records)
      .filter((record) => end === undefined || compare(positionOf(record), end) >= 0)
      .toSorted((a, b) => compare(positionOf(b), positionOf(a)));
    const page = records.slice(0, query.limit);
    if (records.length > query.limit) return { records: page, next: positionOf(page.at(-1)!) };
    return end === undefined ? { records: page } : { records: page, next: end };
  }
}

/** By time, id and revision, as the logs sort: positive if `a` is newer. All times have the same form. */
function compare(a: AuditPosition, b: AuditPosition): number {
  if (a.at !== b.at) return a.at > b.at ? 1 : -1;
  if (a.id !== b.id) return a.id > b.id ? 1 : -1;
  return a.revision - b.revision;
}
