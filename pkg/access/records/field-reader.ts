import { parseTimestamp, type JsonObject } from '#pkg/apimachinery/index';
import { newFieldErrors } from '../http/access-error.ts';
import { isUuid } from './uuid.ts';

export interface TextRules {
  /** Default false: it may be absent, but not blank or null. */
  isRequired?: boolean;
  /** In UTF-16 units; default 128. */
  longest?: number;
  /** May be empty, and hold more than one line; default false. */
  isFree?: boolean;
  /** Kept with the spaces around it, and with whatever is in it: passwords. Default false. */
  isExact?: boolean;
  /** What is wrong with it besides. */
  check?: (text: string) => string | undefined;
}

/**
 * Reads what was sent by name and gathers all that is wrong with it, to be answered together: `done` throws it.
 * What a reading returns is undefined where the field is absent, or wrong. Fields that nobody reads are ignored.
 */
export class FieldReader {
  readonly #find: (name: string) => unknown;
  readonly #errors = new Map<string, string[]>();

  private constructor(find: (reader: FieldReader, name: string) => unknown) {
    this.#find = (name) => find(this, name);
  }

  /** Of a body. */
  static ofBody(fields: JsonObject): FieldReader {
    return new FieldReader((_, name) => (Object.hasOwn(fields, name) ? fields[name] : undefined));
  }

  /** Of a query: empty counts as absent, twice is wrong. */
  static ofQuery(query: URLSearchParams): FieldReader {
    return new FieldReader((reader, name) => {
      const [text, ...more] = query.getAll(name);
      if (more.length > 0) return reader.refuse(name, 'This parameter may be given once.');
      if (text?.includes('\0') === true) return reader.refuse(name, 'Null characters are not allowed.');
      return text === '' ? undefined : text;
    });
  }

  /** Was it sent at all? */
  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  /** Without spaces around it. */
  text(name: string, rules: TextRules = {}): string | undefined {
    const { isRequired = false, isFree = false, isExact = false, longest = 128, check } = rules;
    const value = this.#find(name);
    if (value === undefined)
      return isRequired && !this.#errors.has(name) ? this.refuse(name, 'This field is required.') : undefined;
    if (value === null) return this.refuse(name, 'This field may not be null.');
    if (typeof value !== 'string') return this.refuse(name, 'Not a valid string.');
    const text = isExact ? value : value.trim();
    if (text === '' && !isFree) return this.refuse(name, 'This field may not be blank.');
    if (text.length > longest) return this.refuse(name, `Ensure this field has no more than ${longest} characters.`);
    if (!isExact && (isFree ? /(?![\t\n\r])\p{Cc}/u : /\p{Cc}/u).test(text))
      return this.refuse(name, 'Control characters are not allowed.');
    const fault = check?.(text);
    return fault === undefined ? text : this.refuse(name, fault);
  }

  /** True and false, also as texts, in any case, and as 1 and 0. */
  boolean(name: string): boolean | undefined {
    const value = this.#find(name);
    if (value === undefined) return undefined;
    const word = typeof value === 'string' ? value.toLowerCase() : value;
    if (word === true || word === 'true' || word === '1') return true;
    if (word === false || word === 'false' || word === '0') return false;
    return this.refuse(name, 'Must be a valid boolean.');
  }

  /** RFC 3339; null, or an empty text as forms send it, is no time. */
  time(name: string): Date | null | undefined {
    const value = this.#find(name);
    if (value === undefined) return undefined;
    if (value === null || value === '') return null;
    const instant = typeof value === 'string' ? parseTimestamp(value) : undefined;
    const time = new Date(instant ?? Number.NaN);
    if (!(time.getUTCFullYear() >= 1))
      return this.refuse(name, 'Expected a time as in RFC 3339, like 2030-01-31T09:30:00Z.');
    return time;
  }

  /** A list of texts, each at most 128 long, no two the same. */
  texts(
    name: string,
    { most, check }: { most: number; check: (text: string) => string | undefined },
  ): string[] | undefined {
    const value = this.#find(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
      return this.refuse(name, 'Expected a list of strings.');
    if (value.length > most) return this.refuse(name, `Ensure this field has no more than ${most} elements.`);
    const texts = [...new Set(value.map((text) => text.trim()))];
    const fault = texts
      .map((text) =>
        text === ''
          ? 'An element may not be blank.'
          : text.length > 128
            ? 'Ensure each element has no more than 128 characters.'
            : check(text),
      )
      .find((found) => found !== undefined);
    return fault === undefined ? texts : this.refuse(name, fault);
  }

  uuid(name: string): string | undefined {
    const value = this.#find(name);
    if (value === undefined) return undefined;
    return typeof value === 'string' && isUuid(value)
      ? value.toLowerCase()
      : this.refuse(name, 'Must be a valid UUID.');
  }

  refuse(name: string, text: string): undefined {
    this.#errors.set(name, [...(this.#errors.get(name) ?? []), text]);
    return undefined;
  }

  /** Throws 400 `{field: [texts]}` where anything was wrong. */
  done(): void {
    if (this.#errors.size > 0) throw newFieldErrors(Object.fromEntries(this.#errors));
  }
}
