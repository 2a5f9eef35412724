import type { JsonSchema } from '#pkg/apimachinery/index';
import { rulesOf } from '../leaf/leaf-validators.ts';
import { compilePattern } from '../leaf/linear-pattern.ts';

/** Parts on all levels together; the largest definitions in use have about ten thousand. */
const maxParts = 100_000;
/** Different rule sets, each compiled once; the largest definitions in use have a few hundred. */
const maxRules = 5000;
/** Source and program size of all different patterns; the largest definitions in use have a few thousand. */
const maxPatternSize = 100_000;

/** Counts the cost of compiling a schema, and refuses one that would block the server, however its parts are nested. */
export class SchemaBudget {
  #parts = 0;
  #patternSize = 0;
  readonly #rules = new Set<string>();
  readonly #patterns = new Set<string>();

  /** Call before reading a part; returns an error text above the limit. */
  countPart(): string | undefined {
    this.#parts++;
    return this.#parts > maxParts ? `the schema must not have more than ${maxParts} parts` : undefined;
  }

  /** Call for a part with well-formed keywords. */
  countRules(schema: JsonSchema): string | undefined {
    this.#rules.add(JSON.stringify(rulesOf(schema)));
    return this.#rules.size > maxRules ? `the schema must not have more than ${maxRules} different rules` : undefined;
  }

  /** Call before the pattern is compiled for other reasons. */
  countPattern(source: string): string | undefined {
    if (!this.#patterns.has(source)) {
      this.#patterns.add(source);
      this.#patternSize += source.length;
      if (this.#patternSize <= maxPatternSize) this.#patternSize += sizeOf(source);
    }
    return this.#patternSize > maxPatternSize ? 'the patterns of the schema are too large together' : undefined;
  }
}

/** The keyword check reports a pattern that does not compile; here only the attempt costs. */
function sizeOf(source: string): number {
  try {
    return compilePattern(source).size;
  } catch {
    return 100;
  }
}
