import { RE2JS } from 're2js';

/**
 * Largest program a pattern may compile to, and longest source: together they limit the time of compiling one.
 * `[a-z]{0,63}` compiles to about 130.
 */
const maxProgramSize = 2000;
const maxSourceLength = 4096;

/**
 * Work is the size of a pattern's program times the length of the text. A unit takes 40 ns for the worst patterns, for
 * most a hundredth of that. Matching one text cannot be sliced: 2 million units take a tenth of a second at worst, and
 * are 15 000 characters under `[a-z]{0,63}`.
 */
const maxWorkPerText = 2_000_000;
/** Limit of one validation, which pauses between texts: two seconds at worst. */
const maxWork = 50_000_000;
/** Work after which the validation pauses. */
const workPerSlice = 100_000;

const maxCached = 500;

export interface LinearPattern {
  readonly expression: RE2JS;
  /** Size of the compiled program: the work of one character. */
  readonly size: number;
}

const cache = new Map<string, LinearPattern>();

/**
 * Compiles a schema's `pattern` for RE2, whose time is linear in the text: no pattern can hang the server.
 *
 * @throws Error that describes the problem: not RE2 syntax (no lookarounds, no back references), or too large.
 */
export function compilePattern(source: string): LinearPattern {
  const known = cache.get(source);
  if (known !== undefined) return known;
  if (source.length > maxSourceLength) throw new Error(`longer than ${maxSourceLength} characters`);
  const expression = RE2JS.compile(source);
  const compiled = { expression, size: expression.programSize() };
  if (compiled.size > maxProgramSize) throw new Error('expression too large');
  const oldest = cache.keys().next();
  if (cache.size >= maxCached && !oldest.done) cache.delete(oldest.value);
  cache.set(source, compiled);
  return compiled;
}

/** Counts the work of one validation; above a limit nothing matches, and `refusal` has the reason. */
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
    if (work > maxWorkPerText)
      this.#refusal ??= `holds a text of ${text.length} characters, too long to be matched against the pattern of its schema: at most ${Math.floor(maxWorkPerText / pattern.size)}`;
    else if (this.#work > maxWork)
      this.#refusal ??= 'holds too much text to be matched against the patterns of its schema';
    return this.#refusal === undefined && pattern.expression.test(text);
  }

  /** Whether the validation should pause; true once per pause. */
  takePause(): boolean {
    if (this.#sincePause < workPerSlice) return false;
    this.#sincePause = 0;
    return true;
  }
}

/** The meter of the validation that is running: all validations share the compiled checks. */
export interface MeterSlot {
  meter: PatternMeter;
}
