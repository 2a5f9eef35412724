import { describeError } from '#pkg/apimachinery/index';

/** Lengths of error messages and stacks; the longest that fit into a line are used. */
const errorLimits = [
  { message: 2000, stack: 4000 },
  { message: 1000, stack: 2000 },
  { message: 500, stack: 800 },
  { message: 200, stack: 300 },
] as const;
type Limits = (typeof errorLimits)[number];

/**
 * The details of a log line as JSON of at most `longest` characters; undefined if they are longer. Never throws,
 * whatever the details are.
 */
export function formatDetails(details: object, longest: number): string | undefined {
  for (const limits of errorLimits) {
    const text = textOf(details, limits);
    if (text.length <= longest) return text;
  }
  return undefined;
}

/** Maximum length of a name or text in the short form. Characters. */
const shortTextLength = 200;

/**
 * The details in short form, which always fits: the error's message, and short or truncated values. JSON of at most
 * `longest` characters; never throws.
 */
export function formatShortDetails(details: object, longest: number): string {
  const entries: string[] = [];
  let room = longest - 2;
  for (const name of ['err', ...Object.keys(details).filter((each) => each !== 'err')]) {
    const text =
      Object.hasOwn(details, name) && name.length <= shortTextLength
        ? shortText(details as Record<string, unknown>, name)
        : undefined;
    if (text === undefined) continue;
    const entry = `${JSON.stringify(name)}:${text}`;
    if (entry.length + 1 > room) continue;
    room -= entry.length + 1;
    entries.push(entry);
  }
  return `{${entries.join()}}`;
}

/** Undefined for values that can have any size. */
function shortText(details: Record<string, unknown>, name: string): string | undefined {
  try {
    const value = details[name];
    if (name === 'err') {
      const { type, message, code } = describeError(value, { message: shortTextLength });
      return JSON.stringify({ type, message, code });
    }
    if (typeof value === 'string')
      return JSON.stringify(value.length > shortTextLength ? `${value.slice(0, shortTextLength)}...` : value);
    return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Formats each entry separately: one that throws does not affect the others. */
function textOf(details: object, limits: Limits): string {
  const entries: string[] = [];
  for (const name of Object.keys(details)) {
    const text = entryText(details as Record<string, unknown>, name, limits);
    if (text !== undefined) entries.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${entries.join()}}`;
}

/** Undefined for values that JSON omits. */
function entryText(details: Record<string, unknown>, name: string, limits: Limits): string | undefined {
  try {
    const value = details[name];
    return JSON.stringify(name === 'err' ? describeError(value, limits) : value, plainValues(limits));
  } catch {
    return '"could not be told"';
  }
}

/** Converts errors and bigints to data, and breaks cycles. */
function plainValues(limits: Limits): (this: unknown, key: string, value: unknown) => unknown {
  const above: unknown[] = [];
  return function plainValue(key, value) {
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    // Before toJSON: that of some errors includes request headers.
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
