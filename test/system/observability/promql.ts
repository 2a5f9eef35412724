/** The names in a PromQL expression. */
export interface PromqlNames {
  readonly metrics: readonly string[];
  /** In selectors and groupings. */
  readonly labels: readonly string[];
}

const grouping = /\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const keywords = new Set([
  'and',
  'or',
  'unless',
  'offset',
  'bool',
  'group_left',
  'group_right',
  'by',
  'on',
  'without',
  'ignoring',
  'inf',
  'nan',
]);

/** Only reads names: promtool checks the syntax. */
export function namesIn(expression: string): PromqlNames {
  const labels = new Set<string>();
  const bare = expression
    .replaceAll(/\{([^{}]*)\}/g, (_whole, matchers: string) => {
      for (const [, label] of matchers.matchAll(/([a-z_]+)\s*(?:=~|!~|!=|=)\s*"/g)) labels.add(label!);
      return ' ';
    })
    .replaceAll(grouping, (_whole, list: string) => {
      for (const label of list.split(',')) if (label.trim() !== '') labels.add(label.trim());
      return ' ';
    })
    .replaceAll(/\[[^\]]*\]|\boffset\s+\w+/g, ' ');
  // Arguments follow the name of a function.
  const names = [...bare.matchAll(/[A-Za-z_:][A-Za-z0-9_:]*(?!\w|\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !keywords.has(name));
  return { metrics: [...new Set(names)], labels: [...labels] };
}
