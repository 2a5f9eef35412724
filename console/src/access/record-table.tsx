import type { ReactNode } from 'react';
import { texts } from '../texts/texts.ts';
import { pageSize, type RecordPage } from './access-api.ts';
import { useViewParams } from './view-params.ts';

export interface RecordColumn<T> {
  title: string;
  cell: (record: T) => ReactNode;
  /** The server sorts by it. */
  order?: string;
}

interface RecordTableProps<T> {
  label: string;
  columns: readonly RecordColumn<T>[];
  records: readonly T[];
  keyOf: (record: T) => string;
  empty: string;
  /** The order of the URL, or the server's default: `name`, `-datetime`. */
  order?: string;
}

/** The records that the server gave, in its order. The first cell of a row names it. */
export function RecordTable<T>({ label, columns, records, keyOf, empty, order = '' }: RecordTableProps<T>) {
  if (records.length === 0) return <p className="empty">{empty}</p>;
  return (
    <div className="table-box records" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeadCell key={column.title} title={column.title} sort={column.order} order={order} />
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={keyOf(record)}>
              {columns.map(({ title, cell }, at) =>
                at === 0 ? (
                  <th key={title} scope="row">
                    {cell(record)}
                  </th>
                ) : (
                  <td key={title}>{cell(record)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function HeadCell({ title, sort, order }: { title: string; sort: string | undefined; order: string }) {
  const view = useViewParams();
  if (sort === undefined) return <th scope="col">{title}</th>;
  const direction = order === sort ? 'ascending' : order === `-${sort}` ? 'descending' : 'none';
  return (
    <th scope="col" aria-sort={direction}>
      <button
        type="button"
        className="sort"
        onClick={() => view.set({ order: direction === 'ascending' ? `-${sort}` : sort })}
      >
        {title}
        <span aria-hidden="true">{direction === 'ascending' ? ' ▲' : direction === 'descending' ? ' ▼' : ''}</span>
      </button>
    </th>
  );
}

/** Which records of how many are shown, and the way to the others. */
export function Paging({ page }: { page: RecordPage<unknown> | undefined }) {
  const view = useViewParams();
  if (page === undefined || page.count <= pageSize) return undefined;
  const first = view.page * pageSize;
  const go = (to: number): void => view.set({ page: to === 0 ? '' : String(to + 1) });
  return (
    <nav className="paging" aria-label={texts.access.pages}>
      <button
        type="button"
        className="button plain"
        aria-disabled={view.page === 0}
        onClick={() => {
          if (view.page > 0) go(view.page - 1);
        }}
      >
        {texts.access.previous}
      </button>
      <span>{texts.access.range(first + 1, Math.min(first + pageSize, page.count), page.count)}</span>
      <button
        type="button"
        className="button plain"
        aria-disabled={first + pageSize >= page.count}
        onClick={() => {
          if (first + pageSize < page.count) go(view.page + 1);
        }}
      >
        {texts.access.next}
      </button>
    </nav>
  );
}
