import { newBadRequest, type StatusError } from '../status/status-error.ts';
import { validateLabelValue, validateQualifiedKey } from '../validation/qualified-key.ts';
import type { LabelRequirement, LabelSelector } from './requirement.ts';
import { parseClauses, quoteExcerpt, type SelectorScanner } from './selector-scanner.ts';

/**
 * Parses all occurrences of the query parameter `labelSelector`; all clauses must hold. Forms: `k=v`, `k==v`, `k!=v`,
 * `k`, `!k`, `k=(a,b)`, `k in (a,b)`, `k notin (a,b)`; `k=` selects the empty value. A comma outside parentheses is
 * AND; white space around names, operators and values is ignored; `(,a)` contains the empty value, as in Kubernetes.
 * `k!=(a,b)` is refused: the contract lacks it, and it is ambiguous (a set, or a text in parentheses as in Halo). An
 * empty occurrence selects everything. Errors: 400 with a cause on `labelSelector` for anything else, keys and values
 * that no label can have, over 64 KiB of text, 100 clauses or 1000 values.
 */
export function parseLabelSelector(texts: readonly string[]): LabelSelector {
  return parseClauses(texts, malformed, parseRequirement);
}

function parseRequirement(scanner: SelectorScanner): LabelRequirement {
  if (scanner.take('!')) {
    scanner.skipSpace();
    return { key: takeKey(scanner), operator: 'DoesNotExist' };
  }
  const key = takeKey(scanner);
  scanner.skipSpace();
  const operator = scanner.takeOperator();
  scanner.skipSpace();
  switch (operator) {
    case '':
      return { key, operator: 'Exists' };
    case '=':
    case '==':
      return { key, operator: 'In', values: takeValueOrSet(scanner) };
    case '!=':
      return { key, operator: 'NotIn', values: [takeValue(scanner)] };
    case 'in':
      return { key, operator: 'In', values: takeSet(scanner) };
    case 'notin':
      return { key, operator: 'NotIn', values: takeSet(scanner) };
    default:
      throw malformed(
        `unknown operator ${quoteExcerpt(operator)} after ${quoteExcerpt(key)}: labels have =, ==, !=, in and notin`,
      );
  }
}

function takeKey(scanner: SelectorScanner): string {
  const key = scanner.takeWord();
  if (key === '') throw scanner.unexpected('a label key');
  const violation = validateQualifiedKey(key);
  if (violation !== undefined) throw malformed(`label key ${quoteExcerpt(key)}: ${violation}`);
  return key;
}

function takeValueOrSet(scanner: SelectorScanner): string[] {
  return scanner.startsSet ? takeSet(scanner) : [checked(scanner.takeWord())];
}

function takeValue(scanner: SelectorScanner): string {
  if (scanner.startsSet) throw malformed("'!=' takes one value: ask for none of several with 'notin (a,b)'");
  return checked(scanner.takeWord());
}

function takeSet(scanner: SelectorScanner): string[] {
  return [...new Set(scanner.takeSet(() => checked(scanner.takeWord())))];
}

function checked(value: string): string {
  const violation = validateLabelValue(value);
  if (violation !== undefined) throw malformed(`label value ${quoteExcerpt(value)}: ${violation}`);
  return value;
}

function malformed(detail: string): StatusError {
  return newBadRequest(`unable to parse labelSelector: ${detail}`, [
    { reason: 'FieldValueInvalid', message: detail, field: 'labelSelector' },
  ]);
}
