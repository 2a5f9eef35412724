import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { TableRow } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';
import { directionOf } from './list-view.ts';
import type { SelectedRows } from './selection.ts';
import type { ShownColumn } from './shown-columns.ts';

export interface ObjectGridProps {
  label: string;
  columns: readonly ShownColumn[];
  rowCount: number;
  row: (index: number) => TableRow | undefined;
  /** The rows that are visible now. */
  onShow: (first: number, last: number) => void;
  selection: SelectedRows;
  /** With `range`: all rows from the one before to this. */
  onSelect: (index: number, options: { range: boolean }) => void;
  selectAll: ReactNode;
  linkOf: (row: TableRow) => string;
  onOpen: (row: TableRow) => void;
  hasNamespaces: boolean;
  sort: readonly string[];
  /** The index that sorts by a column, if there is one. */
  sortKeyOf: (column: ShownColumn) => string | undefined;
  onSort: (key: string, options: { add: boolean }) => void;
}

interface Cell {
  row: number;
  column: number;
}

const rowHeight = 36;

/**
 * A grid as ARIA describes it, of which only the visible rows are elements. One cell is in the order of the Tab key; the
 * arrows move it. Source: WAI-ARIA Authoring Practices, Data Grid.
 */
export function ObjectGrid(props: ObjectGridProps) {
  const { columns, rowCount, row, onShow, selection, onSelect, linkOf, onOpen, hasNamespaces } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Cell>({ row: 0, column: 1 });
  const shouldFocus = useRef(false);
  const rows = useVirtualizer({
    count: rowCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    getItemKey: (index) => row(index)?.object.metadata.uid ?? index,
  });
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onShow(first, last), [onShow, first, last]);

  const columnCount = columns.length + (hasNamespaces ? 2 : 1);
  const current = {
    row: Math.min(active.row, Math.max(0, rowCount - 1)),
    column: Math.min(active.column, columnCount - 1),
  };
  useEffect(() => {
    if (!shouldFocus.current) return;
    const cell = scroller.current?.querySelector<HTMLElement>(`[data-cell="${current.row}:${current.column}"]`);
    if (cell === null || cell === undefined) return;
    shouldFocus.current = false;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });

  const move = (to: Cell): void => {
    const next = {
      row: Math.min(Math.max(0, to.row), rowCount - 1),
      column: Math.min(Math.max(0, to.column), columnCount - 1),
    };
    shouldFocus.current = true;
    setActive(next);
    rows.scrollToIndex(next.row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.target as HTMLElement).closest('[role=columnheader]') !== null || event.altKey || event.metaKey) return;
    const target = targetOf(event, current, { rowCount, columnCount });
    const here = row(current.row);
    if (target !== undefined) move(target);
    else if ((event.key === ' ' || event.key === 'x') && here !== undefined)
      onSelect(current.row, { range: event.shiftKey });
    else if (event.key === 'Enter' && here !== undefined) onOpen(here);
    else return;
    event.preventDefault();
  };
  const template = { '--columns': columns.length, '--extra': hasNamespaces ? 1 : 0 } as React.CSSProperties;
  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      tabIndex={rowCount === 0 ? 0 : -1}
      aria-label={props.label}
      aria-rowcount={rowCount + 1}
      aria-colcount={columnCount}
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
      style={template}
    >
      <GridHeader {...props} />
      <div role="rowgroup" className="grid-body" style={{ height: rows.getTotalSize() }}>
        {items.map((item) => {
          const shown = row(item.index);
          const cells = shown === undefined ? [] : cellsOf(shown, columns, hasNamespaces);
          const isSelected = shown !== undefined && selection.has(shown.object.metadata.uid);
          return (
            <div
              key={item.key}
              role="row"
              className={shown?.object.metadata.deletionTimestamp === undefined ? 'grid-row' : 'grid-row deleting'}
              aria-rowindex={item.index + 2}
              aria-selected={isSelected}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <div role="gridcell" aria-colindex={1}>
                {shown === undefined ? undefined : (
                  <input
                    type="checkbox"
                    data-cell={`${item.index}:0`}
                    tabIndex={current.row === item.index && current.column === 0 ? 0 : -1}
                    aria-label={texts.list.selectRow(shown.object.metadata.name)}
                    checked={isSelected}
                    onChange={() => undefined}
                    onClick={(event: MouseEvent) => {
                      setActive({ row: item.index, column: 0 });
                      onSelect(item.index, { range: event.shiftKey });
                    }}
                  />
                )}
              </div>
              {cells.map((text, at) => {
                const column = at + 1;
                const cell = {
                  'data-cell': `${item.index}:${column}`,
                  tabIndex: current.row === item.index && current.column === column ? 0 : -1,
                  onFocus: () => {
                    if (active.row !== item.index || active.column !== column) setActive({ row: item.index, column });
                  },
                };
                return (
                  <div key={column} role="gridcell" aria-colindex={column + 1} title={text} {...(at === 0 ? {} : cell)}>
                    {at === 0 ? (
                      <Link href={linkOf(shown!)} {...cell}>
                        {text}
                      </Link>
                    ) : (
                      text
                    )}
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function GridHeader({ columns, hasNamespaces, selectAll, sort, sortKeyOf, onSort }: ObjectGridProps) {
  const [name, ...others] = columns;
  const shown: readonly (ShownColumn | undefined)[] = hasNamespaces ? [name, undefined, ...others] : columns;
  return (
    <div role="rowgroup" className="grid-head">
      <div role="row" aria-rowindex={1} className="grid-row">
        <div role="columnheader" aria-colindex={1}>
          {selectAll}
        </div>
        {shown.map((column, at) => {
          const key = column === undefined ? 'metadata.namespace' : sortKeyOf(column);
          const title = column?.name ?? texts.list.namespace;
          const direction = key === undefined ? undefined : directionOf(sort, key);
          return (
            <div
              key={title}
              role="columnheader"
              aria-colindex={at + 2}
              aria-sort={direction ?? (key === undefined ? undefined : 'none')}
              title={column?.description}
            >
              {key === undefined ? (
                title
              ) : (
                <button
                  type="button"
                  title={texts.list.sortHint}
                  onClick={(event) => onSort(key, { add: event.shiftKey })}
                >
                  {title}
                  <span aria-hidden="true">
                    {direction === 'ascending' ? ' ▲' : direction === 'descending' ? ' ▼' : ''}
                  </span>
                </button>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** The texts of a row: its name first, then its namespace where several are shown. */
function cellsOf({ cells, object }: TableRow, columns: readonly ShownColumn[], hasNamespaces: boolean): string[] {
  const [name = '', ...others] = columns.map(({ at }) => String(cells[at] ?? ''));
  return hasNamespaces ? [name, object.metadata.namespace ?? '', ...others] : [name, ...others];
}

function targetOf(
  { key, ctrlKey }: KeyboardEvent,
  { row, column }: Cell,
  { rowCount, columnCount }: { rowCount: number; columnCount: number },
): Cell | undefined {
  const page = 10;
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return { row: row + 1, column };
    case 'ArrowUp':
    case 'k':
      return ctrlKey ? undefined : { row: row - 1, column };
    case 'ArrowRight':
      return { row, column: column + 1 };
    case 'ArrowLeft':
      return { row, column: column - 1 };
    case 'PageDown':
      return { row: row + page, column };
    case 'PageUp':
      return { row: row - page, column };
    case 'Home':
      return ctrlKey ? { row: 0, column } : { row, column: 0 };
    case 'End':
      return ctrlKey ? { row: rowCount - 1, column } : { row, column: columnCount - 1 };
    default:
      return undefined;
  }
}
