import type { Log } from '#pkg/runtime/index';
import type { LogLevel, WorkerToHost } from './control-message.ts';
import { LineBudget, lineRate } from './line-budget.ts';
import { maxLineLength } from './line-splitter.ts';
import { formatDetails, formatShortDetails } from './log-details.ts';

/**
 * The log of a plugin, written by its host: bounded in length and rate, and whatever is logged cannot make it throw.
 */
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

  /** The same log, with details that each of its lines has. */
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
    // In JavaScript a text alone is easily written.
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

  /** As JSON; cut where it is too long, but for the error, and that too where nothing else helps. */
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

/** A copy that does not ask getters, as one may throw. */
function withEntries(bound: object, details: object): object {
  return Object.create(null, {
    ...Object.getOwnPropertyDescriptors(bound),
    ...Object.getOwnPropertyDescriptors(details),
  }) as object;
}
