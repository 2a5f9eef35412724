import type { StatusError } from '../status/status-error.ts';
import type { FieldRequirement, LabelRequirement } from './requirement.ts';

/** Limits of all selectors of one kind in one request. */
export const maxSelectorBytes = 65_536;
export const maxSelectorRequirements = 100;
export const maxSelectorValues = 1000;

const space = ' \t\r\n';
/** Characters that end a word: white space, operators, and special characters of values. */
const special = `${space}=!<>^(),\\`;
/** Longest first: the first that matches is used. */
const symbols = ['==', '!=', '>=', '<=', '^=', '=', '>', '<'] as const;

/** `''`: no operator; the clause checks whether the key exists. */
export type SelectorOperator = (typeof symbols)[number] | 'in' | 'notin' | '';

/**
 * Scans one selector from left to right and visits each character a bounded number of times. Names, operators and white
 * space (Kubernetes': blank, tab, CR, LF) are the same for labels and fields. `fail` creates the error to throw.
 */
export class SelectorScanner {
  readonly #text: string;
  readonly #fail: (detail: string) => StatusError;
  #position = 0;

  constructor(text: string, fail: (detail: string) => StatusError) {
    this.#text = text;
    this.#fail = fail;
  }

  get atEnd(): boolean {
    return this.#position === this.#text.length;
  }

  /** Whether a set of values follows. */
  get startsSet(): boolean {
    return this.#current === '(';
  }

  /** Returns whether there was any. */
  skipSpace(): boolean {
    const start = this.#position;
    while (!this.atEnd && space.includes(this.#current)) this.#position += 1;
    return this.#position > start;
  }

  take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#position)) return false;
    this.#position += text.length;
    return true;
  }

  /** Everything up to white space or a special character; may be empty. */
  takeWord(): string {
    const start = this.#position;
    while (!this.atEnd && !special.includes(this.#current)) this.#position += 1;
    return this.#text.slice(start, this.#position);
  }

  takeOperator(): SelectorOperator {
    if (this.atEnd || this.#current === ',') return '';
    for (const symbol of symbols) if (this.take(symbol)) return symbol;
    const start = this.#position;
    const word = this.takeWord();
    if (word === 'in' || word === 'notin') return word;
    this.#position = start;
    throw this.unexpected('an operator or a comma');
  }

  /**
   * Everything up to an unescaped character of `ends`, unescaped: a backslash before a special character yields that
   * character. With `trim`, unescaped white space at the end is dropped.
   */
  takeEscaped(ends: string, trim: boolean): string {
    let value = '';
    let kept = 0;
    for (; !this.atEnd && !ends.includes(this.#current); this.#position += 1) {
      if (this.#current === '\\') {
        this.#position += 1;
        if (this.atEnd || !special.includes(this.#current))
          throw this.#fail(String.raw`a backslash escapes one of ,=\()!<>^ or white space and nothing else`);
        value += this.#current;
        kept = value.length;
      } else {
        value += this.#current;
        if (!space.includes(this.#current)) kept = value.length;
      }
    }
    return trim ? value.slice(0, kept) : value;
  }

  /**
   * Reads `(a, b)`, each member with `takeMember`. `(,a)` contains the empty value, as in Kubernetes; `()` is refused.
   */
  takeSet(takeMember: () => string): string[] {
    if (!this.take('(')) throw this.unexpected("'('");
    const values: string[] = [];
    do {
      this.skipSpace();
      values.push(takeMember());
      this.skipSpace();
    } while (this.take(','));
    if (!this.take(')')) throw this.unexpected("',' or ')'");
    if (values.length === 1 && values[0] === '') throw this.#fail('a set of values may not be empty');
    return values;
  }

  /** The error for an unexpected character. */
  unexpected(expected: string): StatusError {
    const found = this.atEnd ? 'the end' : quoteExcerpt(this.#text.slice(this.#position, this.#position + 30));
    return this.#fail(`expected ${expected} at character ${this.#position + 1}, found ${found}`);
  }

  get #current(): string {
    return this.#text.charAt(this.#position);
  }
}

/**
 * Parses every occurrence of a selector's query parameter into clauses, separated by commas. An empty occurrence adds
 * none: Kubernetes clients send `labelSelector=` for "everything". Throws the errors of `fail`, also above the limits.
 */
export function parseClauses<Clause extends LabelRequirement | FieldRequirement>(
  texts: readonly string[],
  fail: (detail: string) => StatusError,
  parseClause: (scanner: SelectorScanner) => Clause,
): Clause[] {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > maxSelectorBytes) throw fail(`${bytes} bytes of selectors: at most ${maxSelectorBytes} are taken`);
  const clauses: Clause[] = [];
  let values = 0;
  for (const text of texts) {
    const scanner = new SelectorScanner(text, fail);
    scanner.skipSpace();
    if (scanner.atEnd) continue;
    do {
      scanner.skipSpace();
      const clause = parseClause(scanner);
      clauses.push(clause);
      if (clauses.length > maxSelectorRequirements)
        throw fail(`at most ${maxSelectorRequirements} requirements are taken`);
      values += 'values' in clause ? clause.values.length : 0;
      if (values > maxSelectorValues) throw fail(`at most ${maxSelectorValues} values are taken`);
      scanner.skipSpace();
    } while (scanner.take(','));
    if (!scanner.atEnd) throw scanner.unexpected('a comma');
  }
  return clauses;
}

/** A client's text for an error message: shortened, and always well-formed. */
export function quoteExcerpt(text: string): string {
  return JSON.stringify(text.length <= 100 ? text : `${text.slice(0, 97)}...`);
}
