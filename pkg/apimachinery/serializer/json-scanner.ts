import type { StatusCause } from '../status/status.ts';
import { maxFindings } from './decode-result.ts';
import type { PathSegment } from './field-path.ts';
import { formatPath } from './field-path.ts';
import {
  inexactNumberCause,
  isInexactNumber,
  isPrototypeKey,
  maxJsonDepth,
  newBadText,
  newInexactNumbers,
  newTooDeep,
  textViolation,
} from './value-rules.ts';

/** An open object or array: the keys so far with their counts, or the index of the current member. */
type Frame = { keys: Map<string, number>; key: string | undefined } | { index: number };

/**
 * Finds violations of the rules of values, with paths that the parsed value has lost: `JSON.parse` keeps one of two
 * equal keys and rounds numbers. The text must be valid JSON. One linear pass without recursion.
 */
export class JsonScanner {
  readonly #text: string;
  readonly #frames: Frame[] = [];
  readonly #duplicates: string[] = [];
  readonly #dropped: string[] = [];
  readonly #inexact: StatusCause[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws StatusError as `decodeJson` does. */
  scan(): { duplicates: string[]; dropped: string[] } {
    const text = this.#text;
    let position = 0;
    while (position < text.length) {
      position = this.#readToken(text[position]!, position);
      // The answer lists no more, and a body may have a million.
      if (this.#inexact.length === maxFindings) break;
    }
    if (this.#inexact.length > 0) throw newInexactNumbers(this.#inexact);
    return { duplicates: this.#duplicates, dropped: this.#dropped };
  }

  /** @returns the position after the token. */
  #readToken(first: string, position: number): number {
    const frame = this.#frames.at(-1);
    if (first === '"') return this.#readString(position, frame);
    if (first === '-' || (first >= '0' && first <= '9')) return this.#readNumber(position);
    if (first === '{' || first === '[') {
      if (this.#frames.length === maxJsonDepth) throw newTooDeep();
      this.#frames.push(first === '{' ? { keys: new Map(), key: undefined } : { index: 0 });
    } else if (first === '}' || first === ']') this.#frames.pop();
    else if (first === ',' && frame !== undefined) {
      if ('index' in frame) frame.index += 1;
      else frame.key = undefined;
    }
    return position + 1;
  }

  #readString(start: number, frame: Frame | undefined): number {
    let end = start + 1;
    let escaped = false;
    for (let code = this.#text.charCodeAt(end); code !== 0x22; code = this.#text.charCodeAt(end)) {
      if (code === 0x5c) escaped = true;
      end += code === 0x5c ? 2 : 1;
    }
    const isKey = frame !== undefined && 'keys' in frame && frame.key === undefined;
    if (!isKey && !escaped) return end + 1;
    const text = escaped ? (JSON.parse(this.#text.slice(start, end + 1)) as string) : this.#text.slice(start + 1, end);
    if (isKey) this.#enterKey(frame, text);
    const violation = escaped ? textViolation(text) : undefined;
    if (violation !== undefined) throw newBadText(this.#path(), isKey ? `the key ${violation}` : violation);
    return end + 1;
  }

  #enterKey(frame: Extract<Frame, { keys: Map<string, number> }>, key: string): void {
    frame.key = key;
    const times = frame.keys.get(key) ?? 0;
    frame.keys.set(key, times + 1);
    if (times === 0 && isPrototypeKey(key)) this.#report(this.#dropped);
    if (times === 1) this.#report(this.#duplicates);
  }

  #readNumber(start: number): number {
    let end = start + 1;
    let exponent = false;
    for (let code = this.#text.charCodeAt(end); isNumberPart(code); code = this.#text.charCodeAt(end)) {
      exponent ||= code > 0x39;
      end += 1;
    }
    // 15 digits are always exact.
    if (!exponent && end - start <= 15) return end;
    const literal = this.#text.slice(start, end);
    if (isInexactNumber(Number(literal), literal)) this.#inexact.push(inexactNumberCause(this.#path(), literal));
    return end;
  }

  #report(list: string[]): void {
    const path = list.length < maxFindings ? formatPath(this.#path()) : undefined;
    if (path !== undefined && !list.includes(path)) list.push(path);
  }

  #path(): PathSegment[] {
    return this.#frames.map((frame) => ('index' in frame ? frame.index : (frame.key ?? '')));
  }
}

/** Digits, `+`, `-`, `.`, `e`, `E`; false for NaN, the code at the text's end. */
function isNumberPart(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d
  );
}
