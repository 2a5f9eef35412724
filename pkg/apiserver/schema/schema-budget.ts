import type { JsonSchema } from '#pkg/apimachinery/index';
import { rulesOf } from './leaf-validators.ts';
import { compilePattern } from './linear-pattern.ts';

/** Parts of all levels together; the largest definitions in use have some ten thousand. */
const MOST_PARTS = 100_000;
/** Different rule sets, each compiled once; the largest definitions in use have some hundred. */
const MOST_RULES = 5000;
/** Source and program of all different patterns; the largest definitions in use come to some thousand. */
const MOST_PATTERN_SIZE = 100_000;

/** Counts what a schema costs to compile and refuses one that would hold the server, however its parts are spread. */
export class SchemaBudget {
  #parts = 0;
  #patternSize = 0;
  readonly #rules = new Set<string>();
  readonly #patterns = new Set<string>();

  /** To be asked before a part is looked at; what is wrong, in words, if it is one too many. */
  countPart(): string | undefined {
    this.#parts++;
    return this.#parts > MOST_PARTS ? `the schema must not have more than ${MOST_PARTS} parts` : undefined;
  }

  /** For a part whose keywords are well formed. */
  countRules(schema: JsonSchema): string | undefined {
    this.#rules.add(JSON.stringify(rulesOf(schema)));
    return this.#rules.size > MOST_RULES
      ? `the schema must not have more than ${MOST_RULES} different rules`
      : undefined;
  }

  /** To be asked before the pattern is compiled for other reasons. */
  countPattern(source: string): string | undefined {
    if (!this.#patterns.has(source)) {
      this.#patterns.add(source);
      this.#patternSize += source.length;
      if (this.#patternSize <= MOST_PATTERN_SIZE) this.#patternSize += sizeOf(source);
    }
    return this.#patternSize > MOST_PATTERN_SIZE ? 'the patterns of the schema are too large together' : undefined;
  }
}

/** A pattern that does not compile is reported by its keyword; here it only costs what trying did. */
function sizeOf(source: string): number {
  try {
    return compilePattern(source).size;
  } catch {
    return 100;
  }
}
