import { decodeBase64 } from './strict-base64.ts';

/** A single value. `text` is its canonical form. */
export interface BareItem {
  readonly kind: 'integer' | 'decimal' | 'string' | 'token' | 'bytes' | 'boolean';
  readonly value: number | string | boolean | Buffer;
  readonly text: string;
}

export type Parameters = ReadonlyMap<string, BareItem>;

export interface Item {
  readonly kind: 'item';
  readonly item: BareItem;
  readonly parameters: Parameters;
}

export interface InnerList {
  readonly kind: 'inner-list';
  readonly items: readonly Item[];
  readonly parameters: Parameters;
}

/**
 * Parses a structured field of type dictionary; undefined for any other text. Stricter than the standard in one point:
 * a repeated key is an error, as readers that keep the first and those that keep the last would see different messages.
 * Source: RFC 8941, 4.2.2.
 */
export function parseDictionary(text: string): ReadonlyMap<string, Item | InnerList> | undefined {
  try {
    return new FieldReader(text).dictionary();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** In the canonical form of RFC 8941, 4.1.1.1, however the sender wrote it. */
export function formatInnerList({ items, parameters }: InnerList): string {
  return `(${items.map(({ item, parameters: own }) => item.text + formatParameters(own)).join(' ')})${formatParameters(parameters)}`;
}

function formatParameters(parameters: Parameters): string {
  return Array.from(parameters, ([key, { value, text }]) => (value === true ? `;${key}` : `;${key}=${text}`)).join('');
}

/** Reads from left to right; throws SyntaxError. */
class FieldReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  dictionary(): ReadonlyMap<string, Item | InnerList> {
    const members = new Map<string, Item | InnerList>();
    this.#take(/ */y);
    while (this.#at < this.#text.length) {
      const key = this.#newKey(members);
      members.set(key, this.#skip('=') ? this.#member() : { kind: 'item', item: yes, parameters: this.#parameters() });
      this.#take(/[ \t]*/y);
      if (this.#at === this.#text.length) break;
      this.#take(/,[ \t]*(?=.)/y);
    }
    return members;
  }

  #member(): Item | InnerList {
    if (!this.#skip('(')) return this.#item();
    const items: Item[] = [];
    this.#take(/ */y);
    while (!this.#skip(')')) {
      items.push(this.#item());
      this.#take(/ +|(?=\))/y);
    }
    return { kind: 'inner-list', items, parameters: this.#parameters() };
  }

  #item(): Item {
    return { kind: 'item', item: this.#bareItem(), parameters: this.#parameters() };
  }

  #parameters(): Parameters {
    const parameters = new Map<string, BareItem>();
    while (this.#skip(';')) {
      this.#take(/ */y);
      const key = this.#newKey(parameters);
      parameters.set(key, this.#skip('=') ? this.#bareItem() : yes);
    }
    return parameters;
  }

  #newKey(known: ReadonlyMap<string, unknown>): string {
    const key = this.#take(/[a-z*][a-z0-9_.*-]*/y);
    if (known.has(key)) throw new SyntaxError('a key comes twice');
    return key;
  }

  #bareItem(): BareItem {
    const first = this.#text[this.#at] ?? '';
    if (first === '"') return readString(this.#take(/"(?:[ !#-[\]-~]|\\["\\])*"/y));
    if (first === ':') return readBytes(this.#take(/:[A-Za-z0-9+/=]*:/y));
    if (first === '?') return this.#take(/\?[01]/y) === '?1' ? yes : { kind: 'boolean', value: false, text: '?0' };
    if (/[-0-9]/.test(first)) return readNumber(this.#take(/-?\d+(?:\.\d+)?/y));
    const token = this.#take(/[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*/y);
    return { kind: 'token', value: token, text: token };
  }

  #skip(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #take(form: RegExp): string {
    form.lastIndex = this.#at;
    const match = form.exec(this.#text);
    if (match === null) throw new SyntaxError('not a structured field');
    this.#at = form.lastIndex;
    return match[0];
  }
}

const yes: BareItem = { kind: 'boolean', value: true, text: '?1' };

function readString(text: string): BareItem {
  return { kind: 'string', value: text.slice(1, -1).replaceAll(/\\(.)/g, '$1'), text };
}

function readBytes(text: string): BareItem {
  const value = decodeBase64(text.slice(1, -1));
  if (value === undefined) throw new SyntaxError('not canonical base64');
  return { kind: 'bytes', value, text };
}

function readNumber(text: string): BareItem {
  const [, whole, fraction] = /^-?(\d+)(?:\.(\d+))?$/.exec(text)!;
  const isTooLong = fraction === undefined ? whole!.length > 15 : whole!.length > 12 || fraction.length > 3;
  if (isTooLong) throw new SyntaxError('a number has too many digits');
  const value = Number(text) + 0;
  if (fraction === undefined) return { kind: 'integer', value, text: String(value) };
  return { kind: 'decimal', value, text: Number.isInteger(value) ? `${value}.0` : String(value) };
}
