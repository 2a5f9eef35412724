import { numberText } from '../serializer/value-rules.ts';
import type { FieldRequirement } from './requirement.ts';

const symbols = {
  In: '=',
  NotIn: '!=',
  GreaterThan: '>',
  GreaterOrEqual: '>=',
  LessThan: '<',
  LessOrEqual: '<=',
  Prefix: '^=',
} as const;

/**
 * One clause of a field or label selector, as `parseFieldSelector` and `parseLabelSelector` read it; clauses are joined
 * by commas. Values are escaped, but neither names nor keys. A date is its RFC 3339 text.
 */
export function formatRequirement(
  name: string,
  operator: FieldRequirement['operator'],
  values: readonly (string | number | boolean)[] = [],
): string {
  if (operator === 'Exists') return name;
  if (operator === 'DoesNotExist') return `!${name}`;
  const texts = values.map((value) => (typeof value === 'number' ? numberText(value) : String(value)));
  // Every Kubernetes server understands the form without parentheses, and no other can express the empty value.
  if (texts.length === 1) return `${name}${symbols[operator]}${escape(texts[0]!, /[\\,=]|^\(/g)}`;
  const members = texts.map((text) => escape(text, /[\\,=() \t\r\n]/g));
  return `${name} ${operator === 'In' ? 'in' : 'notin'} (${members.join(',')})`;
}

function escape(text: string, special: RegExp): string {
  return text.replace(special, String.raw`\$&`);
}
