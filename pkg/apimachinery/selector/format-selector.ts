import { numberText } from '../serializer/value-rules.ts';

/** How the values of a clause compare, by the names that conditions have. */
const symbols = { in: '=', notIn: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=', prefix: '^=' } as const;

export type Comparison = keyof typeof symbols;

/**
 * One clause of a field or label selector, as `parseFieldSelector` and `parseLabelSelector` read it; clauses are joined
 * by commas. Values are escaped, but neither names nor keys. A date is its RFC 3339 text.
 */
export function formatComparison(
  name: string,
  comparison: Comparison,
  values: readonly (string | number | boolean)[],
): string {
  const texts = values.map((value) => (typeof value === 'number' ? numberText(value) : String(value)));
  // Every Kubernetes server understands the form without parentheses, and no other can express the empty value.
  if (texts.length === 1) return name + symbols[comparison] + escape(texts[0]!, /[\\,=]|^\(/g);
  return `${name} ${comparison.toLowerCase()} (${texts.map((text) => escape(text, /[\\,=() \t\r\n]/g)).join()})`;
}

function escape(text: string, special: RegExp): string {
  return text.replace(special, String.raw`\$&`);
}
