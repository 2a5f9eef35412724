import { isJsonObject, parseTimestamp, type JsonValue, type PrinterColumn } from '#pkg/apimachinery/index';
import { humanDuration } from './human-duration.ts';
import type { VisitBudget } from './visit-budget.ts';

/** The longest text in a cell or a column's definition, in UTF-16 units: a table is for people, and has 128 columns. */
const maxTextLength = 1024;

export interface CellContext {
  /** Milliseconds since 1970. */
  now: number;
  budget: VisitBudget;
}

/**
 * A value as a cell of a column's type. A missing value, null, and a value of another type are null; in a text column
 * any value is printed. Source: k8s.io/apiextensions-apiserver tableconvertor.
 */
export function tableCell(
  type: PrinterColumn['type'],
  value: JsonValue | undefined,
  { now, budget }: CellContext,
): JsonValue {
  if (value === undefined || value === null) return null;
  if (type === 'string') return printed(value, budget);
  if (type === 'date') return typeof value === 'string' ? ageOf(value, now) : null;
  if (type === 'boolean') return typeof value === 'boolean' ? value : null;
  if (typeof value !== 'number') return null;
  return type === 'integer' ? Math.trunc(value) : value;
}

/**
 * How long ago a timestamp was: `5m`. `<unknown>` without a timestamp, `<invalid>` for a text that is none and for the
 * future.
 */
export function ageOf(timestamp: JsonValue | undefined, now: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === '') return '<unknown>';
  const instant = typeof timestamp === 'string' ? parseTimestamp(timestamp) : undefined;
  return instant === undefined ? '<invalid>' : humanDuration(now - instant);
}

/** A text without its end if it is too long; never with half a character. */
export function shortText(text: string): string {
  if (text.length <= maxTextLength) return text;
  const cut = text.slice(0, maxTextLength - 3);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}...`;
}

function printed(value: JsonValue, budget: VisitBudget): string {
  if (typeof value === 'string') return shortText(value);
  return typeof value === 'object' ? shortText(startOfJson(value, budget)) : String(value);
}

/** The JSON of a value, or just its start if that is longer than a cell: an object may have megabytes. */
function startOfJson(value: JsonValue, budget: VisitBudget): string {
  let text = '';
  const write = (part: JsonValue): void => {
    if (text.length > maxTextLength) return;
    if (Array.isArray(part)) {
      text += '[';
      for (const [at, item] of part.slice(0, maxTextLength).entries()) {
        if (at > 0) text += ',';
        write(item);
      }
      text += ']';
    } else if (isJsonObject(part)) {
      text += '{';
      for (const [at, name] of budget.namesOf(part).slice(0, maxTextLength).entries()) {
        if (text.length > maxTextLength) return;
        text += `${at > 0 ? ',' : ''}${JSON.stringify(shortText(name))}:`;
        write(part[name]!);
      }
      text += '}';
    } else text += JSON.stringify(typeof part === 'string' ? shortText(part) : part);
  };
  write(value);
  return text;
}
