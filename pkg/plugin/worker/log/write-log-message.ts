import type { Log } from '#pkg/runtime/index';
import { logLevels, type WorkerToHost } from '../control-message.ts';

/** Fields that the log sets itself: of duplicate names, readers take the last. */
const reserved: ReadonlySet<string> = new Set(['level', 'time', 'msg']);

/** Writes a plugin's log message with its name. Renames details that clash with the log's own fields. */
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
