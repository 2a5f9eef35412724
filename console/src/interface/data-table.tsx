import type { ReactNode } from 'react';

export interface DataTableProps {
  label: string;
  columns: readonly string[];
  rows: readonly (readonly ReactNode[])[];
  /** By the number of a row. Default: the number. */
  keyOf?: (row: number) => string;
  /** Numbers of the columns that hold numbers. */
  numeric?: readonly number[];
}

/** A table in a box of its own, which scrolls where the page is narrow. */
export function DataTable({ label, columns, rows, keyOf = String, numeric = [] }: DataTableProps) {
  const classOf = (column: number): string | undefined => (numeric.includes(column) ? 'number' : undefined);
  return (
    <div className="table-box" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column, at) => (
              <th key={column} scope="col" className={classOf(at)}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, at) => (
            <tr key={keyOf(at)}>
              {cells.map((cell, column) => (
                <td key={columns[column]} className={classOf(column)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
