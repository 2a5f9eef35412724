import { pino, type Logger } from 'pino';
import { describeError } from '#pkg/apimachinery/index';

/** One JSON object a line, on stdout unless another file descriptor is given, written before the call returns: the last words before an exit arrive. What is logged never holds a secret. */
export function newLogger(level: string, dest = 1): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return pino(options, pino.destination({ dest, sync: true }));
}
