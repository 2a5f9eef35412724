import { isatty } from 'node:tty';
import { pino, type DestinationStream, type Logger } from 'pino';
import { describeError } from '#pkg/apimachinery/index';
import { databaseFailure, type DatabaseFailure } from '#pkg/database/index';
import type { Options } from '../options/option-table.ts';
import { prettyLine } from './pretty-line.ts';

export type LogOptions = Pick<Options, 'svc.log.level' | 'svc.log.format'>;

/**
 * Logs one JSON object in each line, or readable text, to stdout or the given file descriptor. Writes synchronously, so
 * that the last entry before an exit is not lost. Each entry names the worker, if this is one of several. Log entries
 * must never contain a secret.
 */
export function newLogger(options: LogOptions, dest = 1, worker?: number): Logger {
  const settings = {
    level: options['svc.log.level'],
    base: worker === undefined ? null : { worker },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => ({ ...describeError(error), ...failureOf(error) }) },
  };
  return pino(settings, destination(options['svc.log.format'], dest));
}

/** Whether to log readable text. */
export function isPretty(format: LogOptions['svc.log.format'], fileDescriptor: number): boolean {
  return format === 'pretty' || (format === 'auto' && isatty(fileDescriptor));
}

function destination(format: LogOptions['svc.log.format'], dest: number): DestinationStream {
  const file = pino.destination({ dest, sync: true });
  if (!isPretty(format, dest)) return file;
  const pretty = prettyLine({
    colors: isatty(dest) && process.env['NO_COLOR'] === undefined && process.env['TERM'] !== 'dumb',
  });
  return { write: (line) => void file.write(pretty(line)) };
}

/** The database failure behind an error, however it was translated. */
function failureOf(error: unknown): { failure?: DatabaseFailure } {
  for (let cause = error, depth = 0; cause instanceof Error && depth <= 5; { cause } = cause, depth += 1) {
    const failure = databaseFailure(cause);
    if (failure !== undefined) return { failure };
  }
  return {};
}
