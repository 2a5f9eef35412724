import { describeError } from '#pkg/apimachinery/index';

/** Of messages and stacks of errors: the longest that fit into a line. */
const errorLimits = [
  { message: 2000, stack: 4000 },
  { message: 1000, stack: 2000 },
  { message: 500, stack: 800 },
  { message: 200, stack: 300 },
] as const;
type Limits = (typeof errorLimits)[number];

/** What is logged besides a message, as JSON of at most so many characters; undefined where it is longer. Whatever the details are, it does not throw. */
export function formatDetails(details: object, longest: number): string | undefined {
  for (const limits of errorLimits) {
    const text = textOf(details, limits);
    if (text.length <= longest) return text;
  }
  return undefined;
}

/** Entry by entry: one that cannot be told leaves the others alone. */
function textOf(details: object, limits: Limits): string {
  const entries: string[] = [];
  for (const name of Object.keys(details)) {
    const text = entryText(details as Record<string, unknown>, name, limits);
    if (text !== undefined) entries.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${entries.join()}}`;
}

/** Undefined for what JSON leaves out. */
function entryText(details: Record<string, unknown>, name: string, limits: Limits): string | undefined {
  try {
    const value = details[name];
    return JSON.stringify(name === 'err' ? describeError(value, limits) : value, plainValues(limits));
  } catch {
    return '"could not be told"';
  }
}

/** Makes errors and big numbers data, and ends circles. */
function plainValues(limits: Limits): (this: unknown, key: string, value: unknown) => unknown {
  const above: unknown[] = [];
  return function plainValue(key, value) {
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    // Before toJSON: there are errors that write the headers of their request.
    const given = (this as Record<string, unknown>)[key];
    if (isError(given)) return describeError(given, limits);
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (above.includes(value)) return '[circular]';
    above.push(value);
    return value;
  };
}

function isError(value: unknown): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
