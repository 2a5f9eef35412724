/** Rows below their header, with padded columns. */
export function table([header, ...rows]: readonly (readonly string[])[]): string {
  const all = [header ?? [], ...rows];
  const widths = (header ?? []).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return [line(all[0]!), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

/** A measured figure has three significant digits. */
export function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replaceAll(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? ' ' : '');
}
