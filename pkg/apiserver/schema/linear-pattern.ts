import { RE2JS } from 're2js';

/**
 * Largest program a pattern may compile to, and longest source: together they bound the time of compiling one.
 * `[a-z]{0,63}` compiles to about 130.
 */
const LARGEST_PROGRAM = 2000;
const LONGEST_SOURCE = 4096;

/**
 * Work one validation may spend on patterns: the sum of program size times text length.
 * Enough for a megabyte of text under `[a-z]{0,63}`; the worst pattern spends it in about a second.
 */
const MOST_WORK = 150_000_000;

const MOST_CACHED = 500;

export interface LinearPattern {
  readonly expression: RE2JS;
  /** Size of the compiled program: the work one character may cost. */
  readonly size: number;
}

const cache = new Map<string, LinearPattern>();

/**
 * Compiles a schema's `pattern` for RE2, whose time is linear in the text: no pattern can hang the server.
 *
 * @throws Error that says in words what is wrong: not RE2 syntax (lookarounds and back references are not), or too large.
 */
export function compilePattern(source: string): LinearPattern {
  const known = cache.get(source);
  if (known !== undefined) return known;
  if (source.length > LONGEST_SOURCE) throw new Error(`longer than ${LONGEST_SOURCE} characters`);
  const expression = RE2JS.compile(source);
  const compiled = { expression, size: expression.programSize() };
  if (compiled.size > LARGEST_PROGRAM) throw new Error('expression too large');
  const oldest = cache.keys().next();
  if (cache.size >= MOST_CACHED && !oldest.done) cache.delete(oldest.value);
  cache.set(source, compiled);
  return compiled;
}

/** Counts the work of one validation; past the limit nothing matches, and `exhausted` tells. */
export class PatternMeter {
  #work = 0;

  get exhausted(): boolean {
    return this.#work > MOST_WORK;
  }

  reset(): void {
    this.#work = 0;
  }

  test(pattern: LinearPattern, text: string): boolean {
    this.#work += pattern.size * text.length;
    return !this.exhausted && pattern.expression.test(text);
  }
}
