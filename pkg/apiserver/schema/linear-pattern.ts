import { RE2JS } from 're2js';

/**
 * Largest program a pattern may compile to, and longest source: together they bound the time of compiling one.
 * `[a-z]{0,63}` compiles to about 130.
 */
const LARGEST_PROGRAM = 2000;
const LONGEST_SOURCE = 4096;

/**
 * Work is the size of a pattern's program times the length of the text; the worst patterns take 40 ns for one, most a
 * hundredth of it. One text cannot be matched in pieces: 2 million are a tenth of a second at worst, and 15 000
 * characters under `[a-z]{0,63}`.
 */
const MOST_WORK_A_TEXT = 2_000_000;
/** Of one validation, which makes pauses between texts: two seconds at worst. */
const MOST_WORK = 50_000_000;
/** After as much, it is time for a pause. */
const WORK_A_SLICE = 100_000;

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
 * @throws Error that says in words what is wrong: not RE2 syntax (lookarounds and back references are not), or too
 * large.
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

/** Counts the work of one validation; past a limit nothing matches, and `refusal` says why. */
export class PatternMeter {
  #work = 0;
  #refusal: string | undefined;
  #sincePause = 0;

  get refusal(): string | undefined {
    return this.#refusal;
  }

  test(pattern: LinearPattern, text: string): boolean {
    const work = pattern.size * text.length;
    this.#work += work;
    this.#sincePause += work;
    if (work > MOST_WORK_A_TEXT)
      this.#refusal ??= `holds a text of ${text.length} characters, too long to be matched against the pattern of its schema: at most ${Math.floor(MOST_WORK_A_TEXT / pattern.size)}`;
    else if (this.#work > MOST_WORK)
      this.#refusal ??= 'holds too much text to be matched against the patterns of its schema';
    return this.#refusal === undefined && pattern.expression.test(text);
  }

  /** Is it time for a pause? Once for each. */
  takePause(): boolean {
    if (this.#sincePause < WORK_A_SLICE) return false;
    this.#sincePause = 0;
    return true;
  }
}

/** The meter of whichever validation asks at present: compiled checks are shared by all. */
export interface MeterSlot {
  meter: PatternMeter;
}
