import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react';
import { useRouter } from 'wouter';
import { useShortcut } from '../interface/shortcuts.ts';
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
  /** With another one the rows begin at the top again. */
  place: unknown;
  /** Others are on their way. */
  isBusy: boolean;
  /** Default: rows cannot be selected. */
  selectable?: SelectableRows;
  linkOf: (row: TableRow) => string;
  onOpen: (row: TableRow) => void;
  /** Opens the menu of a row, next to its button. Default: rows have none. */
  onMenu?: ((row: TableRow, trigger: HTMLElement) => void) | undefined;
  hasNamespaces: boolean;
  sort: readonly string[];
  /** The index that sorts by a column, if there is one. */
  sortKeyOf: (column: ShownColumn) => string | undefined;
  onSort: (key: string, options: { add: boolean }) => void;
}

export interface SelectableRows {
  selection: SelectedRows;
  /** With `range`: all rows from the one before to this. */
  onSelect: (index: number, options: { range: boolean }) => void;
  /** In the header. */
  all: ReactNode;
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
  const { columns, rowCount, row, onShow, place, isBusy, selectable, linkOf, onOpen, onMenu, hasNamespaces } = props;
  const before = selectable === undefined ? 0 : 1;
  const { base } = useRouter();
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<Cell>({ row: 0, column: before });
  const focusSoon = useRef<Cell | undefined>(undefined);
  const rows = useVirtualizer({
    count: rowCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  });
  const newest = useRef(props);
  useEffect(() => {
    newest.current = props;
  });
  const actions = useMemo<RowActions>(
    () => ({
      activate: (cell) => setActive((known) => (known.row === cell.row && known.column === cell.column ? known : cell)),
      select: (...given) => newest.current.selectable?.onSelect(...given),
      open: (chosen) => newest.current.onOpen(chosen),
      menu: (chosen, trigger) => newest.current.onMenu?.(chosen, trigger),
    }),
    [],
  );
  const items = rows.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onShow(first, last), [onShow, first, last]);
  useEffect(() => {
    scroller.current!.scrollTop = 0;
    setActive(({ column }) => ({ row: 0, column }));
  }, [place]);

  const after = onMenu === undefined ? 0 : 1;
  const columnCount = before + columns.length + (hasNamespaces ? 1 : 0) + after;
  const current = {
    row: Math.min(active.row, Math.max(0, rowCount - 1)),
    column: Math.min(active.column, columnCount - 1),
  };
  useEffect(() => {
    // Effects of the rendering before may run between the key and its own rendering.
    if (focusSoon.current !== active) return;
    const cell = scroller.current?.querySelector<HTMLElement>(`[data-cell="${current.row}:${current.column}"]`);
    if (cell === null || cell === undefined) return;
    focusSoon.current = undefined;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });

  const move = (to: Cell): void => {
    const next = {
      row: Math.min(Math.max(0, to.row), rowCount - 1),
      column: Math.min(Math.max(0, to.column), columnCount - 1),
    };
    focusSoon.current = next;
    setActive(next);
    rows.scrollToIndex(next.row);
  };
  // From anywhere on the page; in the grid its own keys act first.
  useShortcut('j', () => move(current));
  useShortcut('k', () => move(current));
  const onKeyDown = (event: KeyboardEvent): void => {
    if ((event.target as HTMLElement).closest('[role=columnheader]') !== null || event.altKey || event.metaKey) return;
    // The button of a menu takes its own keys.
    if ((event.key === 'Enter' || event.key === ' ') && isMenuButton(event.target)) return;
    // The focus moves with its object when others come above it.
    const from = cellOf(event.target as HTMLElement) ?? current;
    const target = targetOf(event, from, { rowCount, columnCount });
    const here = row(from.row);
    if (target !== undefined) move(target);
    else if ((event.key === ' ' || event.key === 'x') && here !== undefined && selectable !== undefined)
      selectable.onSelect(from.row, { range: event.shiftKey });
    else if (event.key === 'Enter' && here !== undefined) onOpen(here);
    else return;
    event.preventDefault();
  };
  const template = { '--columns': columns.length, '--extra': hasNamespaces ? 1 : 0 } as React.CSSProperties;
  return (
    <div
      ref={scroller}
      className={classOf(props)}
      role="grid"
      tabIndex={rowCount === 0 ? 0 : -1}
      aria-label={props.label}
      aria-rowcount={rowCount + 1}
      aria-colcount={columnCount}
      aria-busy={isBusy}
      aria-multiselectable={selectable === undefined ? undefined : true}
      onKeyDown={onKeyDown}
      style={template}
    >
      <GridHeader {...props} />
      <div role="rowgroup" className="grid-body" style={{ height: rows.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const shown = row(index);
          // Who scrolls past rows that are not read sees nothing there, which costs nothing.
          if (shown === undefined) return undefined;
          return (
            <GridRow
              // The focus stays with its object.
              key={shown.object.metadata.uid}
              index={index}
              start={start}
              shown={shown}
              link={`${base}${linkOf(shown)}`}
              columns={columns}
              hasNamespaces={hasNamespaces}
              menuColumn={after === 0 ? undefined : columnCount - 1}
              isSelected={isSelectedRow(shown, selectable)}
              activeColumn={current.row === index ? current.column : undefined}
              actions={actions}
            />
          );
        })}
      </div>
    </div>
  );
}

function classOf({ selectable, onMenu }: ObjectGridProps): string {
  return `grid${selectable === undefined ? ' plain' : ''}${onMenu === undefined ? '' : ' with-menu'}`;
}

function isMenuButton(target: EventTarget): boolean {
  return target instanceof HTMLElement && target.closest('[aria-haspopup=menu]') !== null;
}

/** Undefined where rows cannot be selected. */
function isSelectedRow(row: TableRow, selectable: SelectableRows | undefined): boolean | undefined {
  return selectable?.selection.has(row.object.metadata.uid);
}

/** They stay the same, so that a row whose object did not change is not rendered. */
interface RowActions {
  activate: (cell: Cell) => void;
  select: (index: number, options: { range: boolean }) => void;
  open: (row: TableRow) => void;
  menu: (row: TableRow, trigger: HTMLElement) => void;
}

interface GridRowProps extends Pick<ObjectGridProps, 'columns' | 'hasNamespaces'> {
  index: number;
  start: number;
  shown: TableRow;
  link: string;
  /** Undefined where rows have no menu. */
  menuColumn: number | undefined;
  isSelected: boolean | undefined;
  /** Of the cell in the order of the Tab key, if it is in this row. */
  activeColumn: number | undefined;
  actions: RowActions;
}

const GridRow = memo(function GridRow(props: GridRowProps) {
  const { index, start, shown, link, columns, hasNamespaces, menuColumn, isSelected, activeColumn, actions } = props;
  const { name, deletionTimestamp } = shown.object.metadata;
  const before = isSelected === undefined ? 0 : 1;
  return (
    <div
      role="row"
      className={deletionTimestamp === undefined ? 'grid-row' : 'grid-row deleting'}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      style={{ transform: `translateY(${start}px)` }}
    >
      {isSelected === undefined ? undefined : (
        <div role="gridcell" aria-colindex={1}>
          <input
            type="checkbox"
            data-cell={`${index}:0`}
            tabIndex={activeColumn === 0 ? 0 : -1}
            aria-label={texts.list.selectRow(name)}
            checked={isSelected}
            onChange={() => undefined}
            onClick={(event: MouseEvent) => {
              actions.activate({ row: index, column: 0 });
              actions.select(index, { range: event.shiftKey });
            }}
          />
        </div>
      )}
      {cellsOf(shown, columns, hasNamespaces).map((text, at) => {
        const column = at + before;
        const cell = {
          'data-cell': `${index}:${column}`,
          tabIndex: activeColumn === column ? 0 : -1,
          onFocus: () => actions.activate({ row: index, column }),
        };
        return (
          <div key={column} role="gridcell" aria-colindex={column + 1} title={text} {...(at === 0 ? {} : cell)}>
            {at === 0 ? (
              <a
                href={link}
                {...cell}
                onClick={(event) => {
                  // The browser opens it elsewhere.
                  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
                  event.preventDefault();
                  actions.open(shown);
                }}
              >
                {text}
              </a>
            ) : (
              text
            )}
          </div>
        );
      })}
      {menuColumn === undefined ? undefined : (
        <div role="gridcell" aria-colindex={menuColumn + 1} className="row-menu">
          <button
            type="button"
            data-cell={`${index}:${menuColumn}`}
            tabIndex={activeColumn === menuColumn ? 0 : -1}
            aria-haspopup="menu"
            aria-label={texts.actions.of(shown.object.metadata.name)}
            onFocus={() => actions.activate({ row: index, column: menuColumn })}
            onClick={({ currentTarget }) => actions.menu(shown, currentTarget)}
          >
            ⋯
          </button>
        </div>
      )}
    </div>
  );
});

function GridHeader({ columns, hasNamespaces, selectable, onMenu, sort, sortKeyOf, onSort }: ObjectGridProps) {
  const before = selectable === undefined ? 0 : 1;
  const [name, ...others] = columns;
  const shown: readonly (ShownColumn | undefined)[] = hasNamespaces ? [name, undefined, ...others] : columns;
  return (
    <div role="rowgroup" className="grid-head">
      <div role="row" aria-rowindex={1} className="grid-row">
        {selectable === undefined ? undefined : (
          <div role="columnheader" aria-colindex={1}>
            {selectable.all}
          </div>
        )}
        {shown.map((column, at) => {
          const key = column === undefined ? 'metadata.namespace' : sortKeyOf(column);
          const title = column?.name ?? texts.list.namespace;
          const direction = key === undefined ? undefined : directionOf(sort, key);
          return (
            <div
              key={title}
              role="columnheader"
              aria-colindex={at + before + 1}
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
        {onMenu === undefined ? undefined : (
          <div
            role="columnheader"
            aria-colindex={before + shown.length + 1}
            aria-label={texts.actions.open}
            className="row-menu"
          />
        )}
      </div>
    </div>
  );
}

/** The texts of a row: its name first, then its namespace where several are shown. */
function cellsOf({ cells, object }: TableRow, columns: readonly ShownColumn[], hasNamespaces: boolean): string[] {
  const [name = '', ...others] = columns.map(({ at }) => String(cells[at] ?? ''));
  return hasNamespaces ? [name, object.metadata.namespace ?? '', ...others] : [name, ...others];
}

function cellOf(element: HTMLElement): Cell | undefined {
  const place = element.closest<HTMLElement>('[data-cell]')?.dataset['cell'];
  if (place === undefined) return undefined;
  const [row, column] = place.split(':').map(Number);
  return { row: row!, column: column! };
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
