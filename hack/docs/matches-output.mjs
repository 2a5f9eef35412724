/**
 * Whether the output matches the documentation. `...` matches anything. Trailing spaces of lines are ignored; in JSON
 * all whitespace is, so that it can be formatted.
 */
export function matchesOutput(actual, { text, isJson }) {
  const normal = isJson ? (each) => each.replaceAll(/\s+/g, '') : (each) => each.replaceAll(/[ \t]+$/gm, '').trim();
  const parts = normal(text).split('...');
  return containsInOrder(normal(actual), parts);
}

/** Whether the text contains the parts in order, the first at the start and the last at the end. */
function containsInOrder(text, parts) {
  if (parts.length === 1) return text === parts[0];
  const [first, last] = [parts[0], parts.at(-1)];
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}
