import type { Log } from '#pkg/runtime/index';
import type { LogLevel, WorkerToHost } from './control-message.ts';
import { LineBudget, lineRate } from './line-budget.ts';
import { maxLineLength } from './line-splitter.ts';

/** The log of a plugin, written by its host: bounded in length and rate, and whatever is logged cannot make it throw. */
export class PortLog implements Log {
  readonly #post: (message: WorkerToHost) => void;
  readonly #bound: object;
  readonly #budget: LineBudget;

  constructor(post: (message: WorkerToHost) => void, bound: object = {}, budget = new LineBudget({ ...lineRate, now: performance.now() })) {
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
    if (dropped > 0) this.#post({ kind: 'log', level: 'warn', details: JSON.stringify({ dropped }), message: 'the plugin logged more than is taken; lines were left out' });
    this.#post({ kind: 'log', level, details: this.#textOf(details), message: text.slice(0, maxLineLength) });
  }

  /** As JSON; without the details where they cannot be said so, or are too long. */
  #textOf(details: object | null): string {
    try {
      const text = JSON.stringify({ ...this.#bound, ...details }, plainErrors) ?? '{}';
      if (text.length <= 4 * maxLineLength) return text;
      return JSON.stringify({ ...this.#bound, details: `${text.slice(0, maxLineLength)}...` });
    } catch {
      return JSON.stringify({ ...this.#bound, details: 'could not be told' }, plainErrors);
    }
  }
}

function plainErrors(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
}
