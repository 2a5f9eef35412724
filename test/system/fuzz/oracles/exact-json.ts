/** JSON with the exact literals of numbers. */
export type ExactJson = null | boolean | string | ExactNumber | ExactJson[] | { [key: string]: ExactJson };

export class ExactNumber {
  readonly literal: string;

  constructor(literal: string) {
    this.literal = literal;
  }
}

const space = /[ \t\r\n]*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const string = /"(?:[^"\\]|\\.)*"/y;

/** Parses valid JSON, keeping the literals of numbers. Throws SyntaxError. */
export function parseExact(text: string): ExactJson {
  JSON.parse(text);
  let at = 0;
  const take = (form: RegExp): string => {
    form.lastIndex = at;
    const match = form.exec(text);
    if (match === null) return '';
    at = form.lastIndex;
    return match[0];
  };
  const value = (): ExactJson => {
    take(space);
    const first = text[at];
    let result: ExactJson;
    if (first === '{') result = object();
    else if (first === '[') result = array();
    else if (first === '"') result = JSON.parse(take(string)) as string;
    else if (first === '-' || (first !== undefined && first >= '0' && first <= '9'))
      result = new ExactNumber(take(number));
    else result = JSON.parse(take(/[a-z]+/y)) as boolean | null;
    take(space);
    return result;
  };
  const array = (): ExactJson[] => {
    const items: ExactJson[] = [];
    for (at += 1, take(space); text[at] !== ']';) {
      items.push(value());
      if (text[at] === ',') at += 1;
    }
    at += 1;
    return items;
  };
  const object = (): Record<string, ExactJson> => {
    const members = Object.create(null) as Record<string, ExactJson>;
    for (at += 1, take(space); text[at] !== '}';) {
      take(space);
      const key = JSON.parse(take(string)) as string;
      take(space);
      at += 1;
      members[key] = value();
      if (text[at] === ',') at += 1;
    }
    at += 1;
    return members;
  };
  return value();
}

/**
 * Where the sent and the returned value differ; undefined if they are equal. Ignores the order of members; 1.0 equals
 * 1.
 */
export function exactDifference(a: ExactJson | undefined, b: ExactJson | undefined, path = ''): string | undefined {
  if (a === b) return undefined;
  if (a instanceof ExactNumber && b instanceof ExactNumber)
    return sameNumber(a.literal, b.literal) ? undefined : `${path}: ${a.literal} became ${b.literal}`;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return `${path}: ${a.length} items became ${b.length}`;
    for (let i = 0; i < a.length; i += 1) {
      const difference = exactDifference(a[i], b[i], `${path}[${i}]`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (isObject(a) && isObject(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const difference = exactDifference(a[key], b[key], `${path}.${key}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return `${path}: ${show(a)} became ${show(b)}`;
}

function isObject(value: ExactJson | undefined): value is { [key: string]: ExactJson } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

function sameNumber(a: string, b: string): boolean {
  if (a === b) return true;
  const [sent, answered] = [wholeOf(a), wholeOf(b)];
  if (sent === undefined || answered === undefined) return Number(a) === Number(b);
  // A float may be printed with the digits that identify it: 9.223372036854776e+18 for 2^63.
  return sent === answered || (!/^-?\d+$/.test(b) && Number(a) === Number(b) && BigInt(Number(a)) === sent);
}

/** For an integer up to 2^63, in any notation, every digit counts; undefined for other numbers. */
function wholeOf(literal: string): bigint | undefined {
  if (/^-?\d+$/.test(literal)) return BigInt(literal);
  if (!(Math.abs(Number(literal)) <= 2 ** 63)) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  const shift = Number(exponent) - fraction.length;
  const digits = `${whole}${fraction}`;
  if (shift >= 0) return shift <= 20 ? BigInt(`${sign}${digits}${'0'.repeat(shift)}`) : undefined;
  return shift >= -digits.length && /^0*$/.test(digits.slice(shift))
    ? BigInt(`${sign}${digits.slice(0, shift)}` || '0')
    : undefined;
}

function show(value: ExactJson | undefined): string {
  return value instanceof ExactNumber ? value.literal : (JSON.stringify(value) ?? 'nothing').slice(0, 100);
}
