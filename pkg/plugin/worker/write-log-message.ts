import type { Log } from '#pkg/runtime/index';
import { logLevels, type WorkerToHost } from './control-message.ts';

/** What the log itself says of each line: of two with one name, readers take the last. */
const reserved: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

/** Writes what a plugin logged, with its name. Details that have the name of what each line has are given another. */
export function writeLogMessage(
  { level, details, message }: Extract<WorkerToHost, { kind: 'log' }>,
  plugin: string,
  log: Log,
): void {
  if (!logLevels.includes(level)) return;
  const entries = Object.entries(JSON.parse(details) as object).map(
    ([name, value]) => [reserved.has(name) ? `${name}_` : name, value] as const,
  );
  log[level]({ ...Object.fromEntries(entries), plugin }, message);
}
