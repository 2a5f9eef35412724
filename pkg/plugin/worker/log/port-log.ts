import type { Log } from '#pkg/runtime/index';
import type { LogLevel, WorkerToHost } from '../control-message.ts';
import { LineBudget, lineRate } from './line-budget.ts';
import { maxLineLength } from './line-splitter.ts';
import { formatDetails, formatShortDetails } from './log-details.ts';

/** The log of a plugin, written by its host: limited in length and rate; nothing that is logged makes it throw. */
export class PortLog implements Log {
  readonly #post: (message: WorkerToHost) => void;
  readonly #bound: object;
  readonly #budget: LineBudget;

  constructor(
    post: (message: WorkerToHost) => void,
    bound: object = {},
    budget = new LineBudget({ ...lineRate, now: performance.now() }),
  ) {
    this.#post = post;
    this.#bound = bound;
    this.#budget = budget;
  }

  /** The same log, with details that are added to each line. */
  with(details: object): PortLog {
    return new PortLog(this.#post, { ...this.#bound, ...details }, this.#budget);
  }

  debug(details: object, message: string): void {
    this.#write('debug', details, message);
  }

  info(details: object, message: string): void {
    this.#write('info', details, message);
  }

  warn(details: object, message: string): void {
    this.#write('warn', details, message);
  }

  error(details: object, message: string): void {
    this.#write('error', details, message);
  }

  #write(level: LogLevel, given: unknown, message: unknown): void {
    // JavaScript authors may pass only a text.
    const details = typeof given === 'object' ? given : {};
    const text = typeof message === 'string' ? message : typeof given === 'string' ? given : '';
    const dropped = this.#budget.take(performance.now());
    if (dropped === undefined) return;
    if (dropped > 0)
      this.#post({
        kind: 'log',
        level: 'warn',
        details: JSON.stringify({ dropped }),
        message: 'the plugin logged more than is taken; lines were left out',
      });
    this.#post({ kind: 'log', level, details: this.#textOf(details), message: text.slice(0, maxLineLength) });
  }

  /** The details as JSON; if too long, truncated except for the error, and if that is still too long, in short form. */
  #textOf(details: object | null): string {
    const all = withEntries(this.#bound, details ?? {});
    const longest = 4 * maxLineLength;
    const text = formatDetails(all, longest);
    if (text !== undefined) return text;
    const cut = (formatDetails(all, Infinity) ?? '').slice(0, maxLineLength);
    const err = Object.getOwnPropertyDescriptor(all, 'err');
    return (
      formatDetails(
        { ...this.#bound, ...(err === undefined ? {} : { err: err.value as unknown }), details: `${cut}...` },
        longest,
      ) ?? formatShortDetails(all, longest)
    );
  }
}

/** Copies the descriptors, because a getter may throw. */
function withEntries(bound: object, details: object): object {
  return Object.create(null, {
    ...Object.getOwnPropertyDescriptors(bound),
    ...Object.getOwnPropertyDescriptors(details),
  }) as object;
}
