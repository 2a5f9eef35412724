/**
 * The rule that a name breaks as a segment of a path, or undefined. Names that need no escape in a URL, like
 * `system:view`, break none. A file of its own, because front ends load no other rule.
 */
export function pathSegmentViolation(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return `may not be "${name}"`;
  if (name.length > 253) return 'must be no more than 253 characters';
  if (name.includes('/')) return 'may not contain "/"';
  return name.includes('%') ? 'may not contain "%"' : undefined;
}
