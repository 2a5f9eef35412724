import { readFile } from 'node:fs/promises';

/** Lines that say that something is wrong with the program itself, rather than with what it was put through. */
export async function errorLines(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8');
  return text.split('\n').filter((line) => line !== '' && isWrong(line));
}

/** A start that found no database says so in one sentence; a fault of the program has a stack beside it. */
const startFailure = /^svc: (?!The start failed)/;

function isWrong(line: string): boolean {
  if (startFailure.test(line)) return false;
  const entry = entryOf(line);
  // A failure of the database that has a name is what the program was put through.
  if (typeof entry?.failure === 'string') return false;
  return entry === undefined || entry.level === 'error' || entry.level === 'fatal';
}

/** Undefined for what is no line of the log: a stack on stderr, say. */
function entryOf(line: string): { level: string; failure?: unknown } | undefined {
  try {
    const entry = JSON.parse(line) as { level?: unknown; failure?: unknown };
    return typeof entry.level === 'string' ? { ...entry, level: entry.level } : undefined;
  } catch {
    return undefined;
  }
}
