/**
 * Is this what the documentation promises? `...` stands for anything. Blanks at the ends of lines do not count; in JSON
 * none do, so that it may be laid out for reading.
 */
export function matchesOutput(actual, { text, isJson }) {
  const normal = isJson ? (each) => each.replaceAll(/\s+/g, '') : (each) => each.replaceAll(/[ \t]+$/gm, '').trim();
  const parts = normal(text).split('...');
  return containsInOrder(normal(actual), parts);
}

/** The first part at the beginning, the last at the end, the others in between, in order. */
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
