import { closeSync, openSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Instant } from '../history/history.ts';
import { now } from '../history/instant.ts';
import { LineSplitter } from './line-splitter.ts';

/** Lines that show a fault of the program itself, not of its environment. */
export async function errorLines(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8');
  return text.split('\n').filter((line) => line !== '' && isWrong(line));
}

/** A start without a database prints one sentence; a fault of the program has a stack. */
const startFailure = /^svc: (?!The start failed)/;

function isWrong(line: string): boolean {
  if (startFailure.test(line)) return false;
  const entry = entryOf(line);
  // A named database failure comes from the test's faults.
  if (typeof entry?.failure === 'string') return false;
  return entry === undefined || entry.level === 'error' || entry.level === 'fatal';
}

/** Undefined if it is not a log line, such as a stack on stderr. */
function entryOf(line: string): { level: string; failure?: unknown } | undefined {
  try {
    const entry = JSON.parse(line) as { level?: unknown; failure?: unknown };
    return typeof entry.level === 'string' ? { ...entry, level: entry.level } : undefined;
  } catch {
    return undefined;
  }
}

/** When a server rebuilt its state after a failover, by its log, in the time of a history. */
export async function rebuildsIn(file: string): Promise<{ at: Instant }[]> {
  const text = await readFile(file, 'utf8');
  const offset = now() - Date.now();
  return text
    .split('\n')
    .filter((line) => line.includes('"rebuilt the state after a failover"'))
    .map((line) => ({ at: Date.parse((JSON.parse(line) as { time: string }).time) + offset }));
}

/** Whether it is a log line of level error or above, or not a log line. */
export function isErrorLine(line: string): boolean {
  return line !== '' && !/"level":"(?:warn|info|debug|trace)"/.test(line);
}

/** Reads the new lines of a file. */
export class LogReader {
  readonly #file: number;
  readonly #lines = new LineSplitter();
  readonly #buffer = Buffer.alloc(1 << 16);

  constructor(path: string) {
    this.#file = openSync(path, 'r');
  }

  /** The lines since the last call. */
  takeLines(): string[] {
    const lines: string[] = [];
    for (let read: number; (read = readSync(this.#file, this.#buffer)) > 0;)
      lines.push(...this.#lines.take(this.#buffer.subarray(0, read)));
    return lines;
  }

  close(): void {
    closeSync(this.#file);
  }
}
