import { StatusError } from '@svc/client';
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
/** Between two reads because of changes: so many times as long as the one before took, within these limits. */
const pauseFactor = 4;
const minPauseMs = 40;
const maxPauseMs = 1000;
/** Ages are texts of the server. */
const ageRefreshMs = 30_000;

/**
 * The rows around what is visible of a list of any length, as the server selects, sorts and formats them. Each change of
 * the selection reads the visible pages anew: at once if there was none just before, and otherwise for about a quarter of the time.
 */
export class ListWindow {
  readonly snapshot = new Observable<WindowSnapshot>({
    columns: [],
    total: undefined,
    isLowerBound: false,
    stream: { name: 'connecting' },
    failure: undefined,
    version: 0,
  });
  readonly #resource: AnyResource;
  readonly #query: Omit<TableQuery, 'page' | 'size' | 'signal'>;
  /** By their number, the most recently used last. */
  readonly #pages = new Map<number, TablePage>();
  readonly #pending = new Set<number>();
  readonly #end = new AbortController();
  #visible: { first: number; last: number } = { first: 1, last: 1 };
  #refresh: ReturnType<typeof setTimeout> | undefined;
  #lastRefresh = 0;
  #pauseMs = minPauseMs;
  /** Being read while something changed: the answer may not have the change yet. */
  readonly #outdated = new Set<number>();

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
      onEvents: () => this.refresh(),
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
    this.#end.abort();
  }

  /** Undefined while its page is not there. */
  row(index: number): TableRow | undefined {
    return this.#pages.get(pageOf(index))?.rows[index % pageSize];
  }

  /** Reads the pages of these rows, and the next ones. */
  show(first: number, last: number): void {
    this.#visible = { first: pageOf(first), last: pageOf(last) };
    for (const page of this.#visiblePages()) {
      const held = this.#pages.get(page);
      if (held === undefined) {
        this.#read(page);
      } else {
        this.#pages.delete(page);
        this.#pages.set(page, held);
      }
    }
  }

  /** Reads what is visible anew, soon. */
  refresh(): void {
    this.#refresh ??= setTimeout(
      () => {
        this.#refresh = undefined;
        this.#lastRefresh = Date.now();
        const visible = new Set(this.#visiblePages());
        for (const page of this.#pages.keys()) if (!visible.has(page)) this.#pages.delete(page);
        for (const page of this.#pending) this.#outdated.add(page);
        for (const page of visible) this.#read(page);
      },
      Math.max(0, this.#lastRefresh + this.#pauseMs - Date.now()),
    );
  }

  #visiblePages(): number[] {
    const { total } = this.snapshot.get();
    const { first, last } = this.#visible;
    const end = total === undefined ? first : Math.max(1, Math.min(last + 1, Math.ceil(total / pageSize)));
    return Array.from({ length: Math.max(1, end - first + 1) }, (_, at) => Math.min(first, end) + at);
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

function pageOf(index: number): number {
  return Math.floor(index / pageSize) + 1;
}
