import { isIPv4, isIPv6 } from 'node:net';

/**
 * The formats that are enforced, each in time linear in the text; any other is ignored, as in Kubernetes.
 *
 * Every expression here is a plain sequence of classes, without nested or adjacent ambiguous repetition. Sources:
 * k8s.io/kube-openapi/pkg/validation/strfmt, apiextensions-apiserver's list of supported formats, OpenAPI (numbers).
 */
export const stringFormats: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>(
  [
    ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
    ['byte', isBase64],
    ['cidr', isCidr],
    ['creditcard', isCardNumber],
    ['date', isCalendarDate],
    ['date-time', isDateTime],
    ['datetime', isDateTime],
    ['duration', isDuration],
    ['email', isEmail],
    ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
    ['hostname', isHostname],
    ['ipv4', isIPv4],
    ['ipv6', isIpv6],
    ['isbn', isBookNumber],
    ['isbn10', isShortBookNumber],
    ['isbn13', isLongBookNumber],
    ['k8s-long-name', isLongName],
    ['k8s-short-name', isShortName],
    ['mac', isMac],
    ['password', () => true],
    ['rgbcolor', isRgbColor],
    ['ssn', matches(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
    ['uri', isUri],
    ['uuid', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
    ['uuid3', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
    ['uuid4', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
    ['uuid5', matches(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ],
);

export const numberFormats: ReadonlyMap<string, (value: number) => boolean> = new Map<
  string,
  (value: number) => boolean
>([
  ['int32', (value) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31],
  ['int64', (value) => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63],
  ['float', (value) => Number.isFinite(Math.fround(value))],
  ['double', (value) => Number.isFinite(value)],
]);

function matches(expression: RegExp): (text: string) => boolean {
  return (text) => expression.test(text);
}

/** Empty is valid: Go writes an empty `[]byte` as ''. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** Without a zone (`fe80::1%eth0`), which means nothing on another machine. */
function isIpv6(text: string): boolean {
  return text.length <= 45 && !text.includes('%') && isIPv6(text);
}

function isCidr(text: string): boolean {
  const slash = text.indexOf('/');
  const bits = text.slice(slash + 1);
  if (slash < 0 || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return false;
  const address = text.slice(0, slash);
  return (isIPv4(address) && Number(bits) <= 32) || (isIpv6(address) && Number(bits) <= 128);
}

/** 6, 8 or 20 bytes: `00:00:5e:00:53:01`, `00-00-5e-00-53-01`, `0000.5e00.5301`. */
function isMac(text: string): boolean {
  if (text.length > 59) return false;
  const separator = ['.', ':', '-'].find((one) => text.includes(one));
  if (separator === undefined) return false;
  const digits = separator === '.' ? 4 : 2;
  const groups = text.split(separator);
  return (
    [6, 8, 20].includes((groups.length * digits) / 2) &&
    groups.every((group) => group.length === digits && /^[0-9a-fA-F]+$/.test(group))
  );
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(([0-9, ]{5,30})\)$/.exec(text)?.[1]?.split(',') ?? [];
  return parts.length === 3 && parts.every((part) => /^\d{1,3}$/.test(part.trim()) && Number(part) <= 255);
}

function isShortName(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9-]+$/.test(text) && !text.startsWith('-') && !text.endsWith('-');
}

function isLongName(text: string): boolean {
  return text.length <= 253 && text.split('.').every(isShortName);
}

/** Labels of letters (any script), digits and inner hyphens. */
function isHostname(text: string): boolean {
  if (text.length > 253) return false;
  return text
    .split('.')
    .every(
      (label) =>
        label.length <= 63 && /^[\p{L}\p{S}0-9-]+$/u.test(label) && !label.startsWith('-') && !label.endsWith('-'),
    );
}

/** An address only, `local@domain`, without a display name. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 1 || text.length > 320) return false;
  const local = text.slice(0, at);
  const quoted = /^"[^"\\\r\n]+"$/.test(local);
  return (
    (quoted || local.split('.').every((atom) => /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+$/u.test(atom))) &&
    isHostname(text.slice(at + 1))
  );
}

/** Absolute, or a path from the root. Source: Go's url.ParseRequestURI. */
function isUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- searches for control characters
  if (/[\u0000-\u0020\u007f<>"\\^`{|}]/.test(text) || /%(?![0-9a-fA-F]{2})/.test(text)) return false;
  if (text.startsWith('/')) return true;
  const colon = text.indexOf(':');
  if (colon < 1 || colon === text.length - 1 || !/^[A-Za-z][A-Za-z0-9+.-]*$/.test(text.slice(0, colon))) return false;
  return !text.startsWith('//', colon + 1) || isAuthority(text.slice(colon + 3));
}

/** The host and port after `//`, up to the path; empty in `file:///etc`. */
function isAuthority(rest: string): boolean {
  const authority = rest.split(/[/?#]/, 1)[0] ?? '';
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  const literal = /^\[([0-9a-fA-F:.]+)\](?::\d*)?$/.exec(host)?.[1];
  return literal === undefined ? /^[^[\]:@]*(?::\d*)?$/.test(host) : isIpv6(literal);
}

/** ISBN-10 or ISBN-13; spaces and hyphens between the digits are allowed. */
function isBookNumber(text: string): boolean {
  return isShortBookNumber(text) || isLongBookNumber(text);
}

function isShortBookNumber(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^\d{9}[\dXx]$/.test(digits)) return false;
  return weightedSum(digits, (index) => 10 - index) % 11 === 0;
}

function isLongBookNumber(text: string): boolean {
  const digits = withoutSeparators(text);
  return /^97[89]\d{10}$/.test(digits) && weightedSum(digits, (index) => (index % 2 === 0 ? 1 : 3)) % 10 === 0;
}

/** 13 to 19 digits with a valid check digit. Source: ISO/IEC 7812, Luhn. */
function isCardNumber(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^\d{13,19}$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

function withoutSeparators(text: string): string {
  return text.length > 64 ? '' : text.replace(/[ -]/g, '');
}

function weightedSum(digits: string, weight: (index: number) => number): number {
  return Array.from(digits).reduce(
    (sum, digit, index) => sum + (digit === 'X' || digit === 'x' ? 10 : Number(digit)) * weight(index),
    0,
  );
}

/** `2024-02-29`, a day that exists. Source: RFC 3339 full-date. */
function isCalendarDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** `2024-02-29T23:59:59.5Z`, with an offset or Z; no leap second, as in Go. Source: RFC 3339 date-time. */
function isDateTime(text: string): boolean {
  const match = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-](\d{2}):(\d{2}))$/.exec(text);
  if (match === null) return false;
  const [, date = '', hour, minute, second, offsetHour = '0', offsetMinute = '0'] = match;
  const inRange =
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) < 60 &&
    Number(offsetHour) < 24 &&
    Number(offsetMinute) < 60;
  return inRange && isCalendarDate(date);
}

/** Go's `1h30m`, `-1.5s`, `0`, and forms like `3 days`. Source: kube-openapi strfmt.ParseDuration. */
function isDuration(text: string): boolean {
  if (text.length > 128) return false;
  if (
    /^\d{1,18} ?(?:nanoseconds?|microseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|d|weeks?|wks?|w)$/i.test(
      text,
    )
  )
    return true;
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  return unsigned === '0' || /^(?:(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:ns|us|µs|μs|ms|s|m|h))+$/.test(unsigned);
}

function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}
