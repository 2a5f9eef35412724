import type { IndexDefinition, IndexValue } from '../scheme/index-definition.ts';
import { indexTypeDescriptions, parseIndexValue } from '../scheme/index-value.ts';
import { newBadRequest, type StatusError } from '../status/status-error.ts';
import type { FieldRequirement, FieldSelector } from './requirement.ts';
import { parseClauses, quoteExcerpt, type SelectorScanner } from './selector-scanner.ts';

const orderings = { '>': 'GreaterThan', '>=': 'GreaterOrEqual', '<': 'LessThan', '<=': 'LessOrEqual' } as const;

/**
 * Parses all occurrences of the query parameter `fieldSelector`; all clauses must hold. `indexes` are the built-in ones
 * and the model's. Forms: `f=v`, `f==v`, `f!=v`, `f=(a,b)`, `f in (a,b)`, `f notin (a,b)`, `f>v`, `f>=v`, `f<v`,
 * `f<=v`, `f^=prefix`, `f` (has a key), `!f` (has none); `name` is short for `metadata.name`. Values are parsed as the
 * index's type. A value extends to the next comma, white space included, as in Kubernetes. After an operator with white
 * space before it (`f = v`), and within sets, white space around values is dropped. A backslash escapes `,`, `=`, `\`,
 * `(`, `)`, `!`, `<`, `>`, `^` and white space; a value that starts with `(` must escape it, and so must parentheses
 * within a set. `f!=(a,b)` is refused, as for labels. Errors: 400 with a cause that names the field (or
 * `fieldSelector`, if none could be parsed) and lists the indexed ones.
 */
export function parseFieldSelector(texts: readonly string[], indexes: readonly IndexDefinition[]): FieldSelector {
  const clauses = new ClauseParser(indexes);
  return parseClauses(
    texts,
    (detail) => clauses.malformed(detail),
    (scanner) => clauses.parse(scanner),
  );
}

class ClauseParser {
  readonly #indexes: ReadonlyMap<string, IndexDefinition>;

  constructor(indexes: readonly IndexDefinition[]) {
    this.#indexes = new Map(indexes.map((index) => [index.name, index]));
  }

  parse(scanner: SelectorScanner): FieldRequirement {
    if (scanner.take('!')) {
      scanner.skipSpace();
      return { index: this.#takeIndex(scanner), operator: 'DoesNotExist' };
    }
    const index = this.#takeIndex(scanner);
    const spaced = scanner.skipSpace();
    const operator = scanner.takeOperator();
    if (spaced || operator === 'in' || operator === 'notin') scanner.skipSpace();
    switch (operator) {
      case '':
        return { index, operator: 'Exists' };
      case '=':
      case '==':
        return {
          index,
          operator: 'In',
          values: scanner.startsSet ? this.#takeSet(scanner, index) : [this.#takeValue(scanner, index, spaced)],
        };
      case '!=':
        return { index, operator: 'NotIn', values: [this.#takeValue(scanner, index, spaced)] };
      case 'in':
        return { index, operator: 'In', values: this.#takeSet(scanner, index) };
      case 'notin':
        return { index, operator: 'NotIn', values: this.#takeSet(scanner, index) };
      case '^=':
        if (index.multi || index.type !== 'string')
          throw this.malformed(`'^=' takes a single-value index of strings`, index.name);
        return { index, operator: 'Prefix', value: String(this.#takeValue(scanner, index, spaced)) };
      default:
        if (index.multi || index.type === 'boolean')
          throw this.malformed(`'${operator}' takes a single-value index of an ordered type`, index.name);
        return { index, operator: orderings[operator], value: this.#takeValue(scanner, index, spaced) };
    }
  }

  /** `field`: the field of the cause. */
  malformed(detail: string, field = 'fieldSelector'): StatusError {
    const message = field === 'fieldSelector' ? detail : `${field}: ${detail}`;
    return newBadRequest(`unable to parse fieldSelector: ${message}`, [
      { reason: 'FieldValueInvalid', message: this.#withIndexed(detail), field },
    ]);
  }

  #takeIndex(scanner: SelectorScanner): IndexDefinition {
    const name = scanner.takeWord();
    if (name === '') throw scanner.unexpected('a field');
    const index = this.#indexes.get(name === 'name' ? 'metadata.name' : name);
    if (index !== undefined) return index;
    const field = name.length <= 253 ? name : `${name.slice(0, 250)}...`;
    const hint = name.startsWith('metadata.labels') ? ': labels are selected with labelSelector' : '';
    throw newBadRequest(`field label not supported: ${field}${hint}`, [
      { reason: 'FieldValueNotSupported', message: this.#withIndexed(`not an indexed field${hint}`), field },
    ]);
  }

  #takeValue(scanner: SelectorScanner, index: IndexDefinition, trim: boolean): IndexValue {
    if (scanner.startsSet) {
      throw this.malformed(
        String.raw`only '=', 'in' and 'notin' take a set of values; a value that starts with a parenthesis is written '\('`,
        index.name,
      );
    }
    return this.#typed(scanner.takeEscaped(',', trim), index);
  }

  #takeSet(scanner: SelectorScanner, index: IndexDefinition): IndexValue[] {
    const texts = scanner.takeSet(() => scanner.takeEscaped(',()', true));
    return [...new Set(texts.map((text) => this.#typed(text, index)))];
  }

  #typed(text: string, index: IndexDefinition): IndexValue {
    const value = parseIndexValue(index.type, text);
    if (value === undefined)
      throw this.malformed(`${quoteExcerpt(text)} is not ${indexTypeDescriptions[index.type]}`, index.name);
    return value;
  }

  #withIndexed(detail: string): string {
    return `${detail}; indexed fields: ${[...this.#indexes.keys()].join(', ')}`;
  }
}
