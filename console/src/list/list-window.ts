import { StatusError, type AnyObject, type ClientEvent } from '@svc/client';
import { followChanges, type StreamState } from '../server/follow-changes.ts';
import type { AnyResource } from '../server/model-info.ts';
import { Observable } from '../server/observable.ts';
import { readTable, type TableColumn, type TablePage, type TableQuery, type TableRow } from '../server/read-table.ts';

export interface WindowSnapshot {
  columns: readonly TableColumn[];
  /** Undefined until the first page is there. */
  total: number | undefined;
  isLowerBound: boolean;
  stream: StreamState;
  /** Of the newest read; undefined once one succeeds. */
  failure: StatusError | undefined;
  /** Grows with every change of the rows. */
  version: number;
}

const pageSize = 100;
/** So many pages are held at most. */
const maxPages = 20;
/** Pages that are read at a time: who scrolls on does not wait for what has gone by. */
const maxPending = 3;
/** So many changed rows are read by themselves; for more the whole page is. */
const maxChangedRows = 30;
/** Between two reads because of changes: so many times as long as the one before took, within these limits. */
const pauseFactor = 4;
const minPauseMs = 40;
const maxPauseMs = 1000;
/** Ages are texts of the server. */
const ageRefreshMs = 30_000;
/** In the order of these a changed object stays where it is. */
const steadyKeys = /^metadata\.(?:name|namespace|creationTimestamp)(?:,|$)/;

/** Before anything is read. */
export const emptyWindow: WindowSnapshot = {
  columns: [],
  total: undefined,
  isLowerBound: false,
  stream: { name: 'connecting' },
  failure: undefined,
  version: 0,
};

/**
 * The rows around what is visible of a list of any length, as the server selects, sorts and formats them. A change reads
 * the visible pages anew, or only its row where the others stay as they are: at once if nothing was read just before, and
 * otherwise for about a quarter of the time.
 */
export class ListWindow {
  readonly snapshot = new Observable(emptyWindow);
  readonly #resource: AnyResource;
  readonly #query: Omit<TableQuery, 'page' | 'size' | 'signal'>;
  /** By their number, the most recently used last. */
  readonly #pages = new Map<number, TablePage>();
  readonly #pending = new Set<number>();
  /** To be read as soon as fewer are pending. */
  #wanted: number[] = [];
  readonly #end = new AbortController();
  #visible: { first: number; last: number } = { first: 1, last: 1 };
  #refresh: ReturnType<typeof setTimeout> | undefined;
  #lastRefresh = 0;
  #pauseMs = minPauseMs;
  /** What was read before this revision may have missed changes. */
  #followedFrom = 0;
  /** Being read while something changed: the answer may not have the change yet. */
  readonly #outdated = new Set<number>();
  /** Visible rows that are not read anew yet: names by uid. */
  readonly #changed = new Map<string, string>();
  #isReadingRows = false;
  #rowsRefresh: ReturnType<typeof setTimeout> | undefined;
  #rowsPauseUntil = 0;

  constructor(resource: AnyResource, query: Omit<TableQuery, 'page' | 'size' | 'signal'>) {
    this.#resource = resource;
    this.#query = query;
  }

  start(): void {
    const { signal } = this.#end;
    const { where, labels } = this.#query;
    followChanges(this.#resource, {
      signal,
      selection: { ...(where === undefined ? {} : { where }), ...(labels === undefined ? {} : { labels }) },
      onEvents: (events, revision) => this.#take(events, revision),
      onState: (stream) => this.#set({ stream }),
    });
    this.#read(1);
    const timer = setInterval(() => {
      if (!document.hidden) this.refresh();
    }, ageRefreshMs);
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  stop(): void {
    clearTimeout(this.#refresh);
    clearTimeout(this.#rowsRefresh);
    this.#end.abort();
  }

  /** Undefined while its page is not there. */
  row(index: number): TableRow | undefined {
    return this.#pages.get(pageOf(index))?.rows[index % pageSize];
  }

  /** Reads the pages of these rows, and the next ones. */
  show(first: number, last: number): void {
    this.#visible = { first: pageOf(first), last: pageOf(last) };
    const visible = this.#visiblePages();
    for (const page of visible) {
      const held = this.#pages.get(page);
      if (held === undefined) continue;
      this.#pages.delete(page);
      this.#pages.set(page, held);
    }
    this.#wanted = [...visible, visible.at(-1)! + 1].filter((page) => page <= this.#lastPage());
    this.#readWanted();
  }

  /** Reads what is visible anew, soon. */
  refresh(): void {
    this.#refresh ??= setTimeout(
      () => {
        this.#refresh = undefined;
        this.#lastRefresh = Date.now();
        this.#changed.clear();
        const visible = new Set(this.#visiblePages());
        for (const page of this.#pages.keys()) if (!visible.has(page)) this.#pages.delete(page);
        for (const page of this.#pending) this.#outdated.add(page);
        for (const page of visible) this.#read(page);
      },
      Math.max(0, this.#lastRefresh + this.#pauseMs - Date.now()),
    );
  }

  /** Reads what has changed, soon. Without events anything may have, until `revision`. */
  #take(events: readonly ClientEvent<AnyObject>[], revision?: string): void {
    if (revision !== undefined) {
      this.#followedFrom = Number(revision);
      const hasFailed = this.snapshot.get().failure !== undefined;
      if (hasFailed || [...this.#pages.values()].some((page) => this.#isOutdated(page))) this.refresh();
      return;
    }
    const { where = {}, sort = [] } = this.#query;
    const isSteady = sort.every((key) => steadyKeys.test(key)) && !('metadata.name' in where);
    const changed = new Map<string, string>();
    for (const event of events) {
      if (event.type !== 'MODIFIED') return this.refresh();
      changed.set(event.object.metadata.uid, event.object.metadata.name);
    }
    if (!isSteady || changed.size === 0) return this.refresh();
    for (const page of this.#pending) this.#outdated.add(page);
    const visible = new Set(this.#visiblePages());
    for (const [page, { rows }] of this.#pages) {
      const uids = rows.map(({ object }) => object.metadata.uid).filter((uid) => changed.has(uid));
      if (!visible.has(page) && uids.length > 0) this.#pages.delete(page);
      else for (const uid of uids) this.#changed.set(uid, changed.get(uid)!);
    }
    if (this.#changed.size > maxChangedRows) this.refresh();
    else if (this.#changed.size > 0) this.#refreshRows();
  }

  /** Reads the changed rows anew, soon. */
  #refreshRows(): void {
    if (this.#isReadingRows) return;
    this.#rowsRefresh ??= setTimeout(
      () => {
        this.#rowsRefresh = undefined;
        void this.#readRows();
      },
      Math.max(0, this.#rowsPauseUntil - Date.now()),
    );
  }

  /** Never rejects: what it cannot do the whole pages do, and tell. */
  async #readRows(): Promise<void> {
    const { signal } = this.#end;
    const names = [...new Set(this.#changed.values())];
    this.#changed.clear();
    if (names.length === 0) return;
    const began = Date.now();
    this.#isReadingRows = true;
    try {
      const where = { ...this.#query.where, 'metadata.name': { in: names } };
      const { rows, hasNext } = await readTable(this.#resource, {
        ...this.#query,
        where,
        page: 1,
        size: pageSize,
        signal,
      });
      if (hasNext === true) this.refresh();
      this.#replaceRows(new Map(rows.map((row) => [row.object.metadata.uid, row])));
    } catch {
      if (!signal.aborted) this.refresh();
    }
    this.#isReadingRows = false;
    // A few rows cost the server little: half of the time is enough.
    this.#rowsPauseUntil = Date.now() + Math.min(maxPauseMs, Date.now() - began);
    if (this.#changed.size > 0 && !signal.aborted) this.#refreshRows();
  }

  /** In what is held by now, if they are newer. */
  #replaceRows(newest: ReadonlyMap<string, TableRow>): void {
    if (this.#end.signal.aborted) return;
    for (const [page, held] of this.#pages) {
      const rows = held.rows.map((row) => {
        const other = newest.get(row.object.metadata.uid);
        return other !== undefined && revisionOf(other) > revisionOf(row) ? other : row;
      });
      if (rows.some((row, at) => row !== held.rows[at])) this.#pages.set(page, { ...held, rows });
    }
    this.#set({ version: this.snapshot.get().version + 1 });
  }

  #isOutdated({ metadata }: TablePage): boolean {
    return Number(metadata.resourceVersion) < this.#followedFrom;
  }

  #visiblePages(): number[] {
    const end = this.#lastPage();
    const [first, last] = [Math.min(this.#visible.first, end), Math.min(this.#visible.last, end)];
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  }

  #lastPage(): number {
    const { total } = this.snapshot.get();
    return total === undefined ? this.#visible.first : Math.max(1, Math.ceil(total / pageSize));
  }

  #readWanted(): void {
    for (const page of this.#wanted) {
      if (this.#pending.size >= maxPending) return;
      if (!this.#pages.has(page)) this.#read(page);
    }
  }

  #read(page: number): void {
    if (this.#pending.has(page) || this.#end.signal.aborted) return;
    this.#pending.add(page);
    void this.#readPage(page);
  }

  async #readPage(page: number): Promise<void> {
    const { signal } = this.#end;
    const began = Date.now();
    try {
      const table = await readTable(this.#resource, { ...this.#query, page, size: pageSize, signal });
      if (signal.aborted) return;
      if (this.#isOutdated(table)) this.#outdated.add(page);
      this.#pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, pauseFactor * (Date.now() - began)));
      this.#hold(page, table);
      this.#set({
        columns: table.columnDefinitions,
        total: table.total ?? table.rows.length,
        isLowerBound: table.totalIsLowerBound ?? false,
        failure: undefined,
        version: this.snapshot.get().version + 1,
      });
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof StatusError)) throw error;
      this.#set({ failure: error });
    } finally {
      this.#pending.delete(page);
      if (this.#outdated.delete(page)) {
        if (this.#visiblePages().includes(page)) this.#read(page);
        else this.#pages.delete(page);
      }
      this.#readWanted();
    }
  }

  #hold(page: number, table: TablePage): void {
    this.#pages.delete(page);
    this.#pages.set(page, table);
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= maxPages) break;
      this.#pages.delete(old);
    }
  }

  #set(change: Partial<WindowSnapshot>): void {
    this.snapshot.set({ ...this.snapshot.get(), ...change });
  }
}

function revisionOf({ object }: TableRow): number {
  return Number(object.metadata.resourceVersion);
}

function pageOf(index: number): number {
  return Math.floor(index / pageSize) + 1;
}
