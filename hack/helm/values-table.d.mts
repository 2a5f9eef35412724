export interface ValuesRow {
  name: string;
  doc: string | undefined;
  value?: unknown;
  isGroup?: true;
}
export function valuesOf(text?: string): ValuesRow[];
export function valuesTable(): string;
export function pageWithTable(text?: string): string;
