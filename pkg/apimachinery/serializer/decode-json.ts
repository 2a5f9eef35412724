import { isUtf8 } from 'node:buffer';

import type { JsonValue } from '../meta/object.ts';
import { newBadRequest } from '../status/status-error.ts';
import { runSync, runInTurns, type SlicedWork } from '../turns/event-loop-turns.ts';
import type { DecodeResult } from './decode-result.ts';
import { JsonScanner } from './json-scanner.ts';
import {
  isPrototypeKey,
  maxJsonDepth,
  maxJsonValues,
  newTooDeep,
  newTooManyValues,
  textViolation,
} from './value-rules.ts';

/**
 * Decodes a JSON body (RFC 8259, UTF-8; a byte order mark is skipped). `-0` becomes 0; of duplicate keys the last wins.
 * @throws StatusError 400 for invalid UTF-8 or JSON, more than 100 levels, U+0000 or an unpaired surrogate in a string
 * or key; 413 for more than 100 000 values and keys; 422 for an integer that a double cannot represent. 400 and 422
 * name the path.
 */
export function decodeJson(bytes: Buffer): DecodeResult {
  return runSync(decoding(bytes));
}

/**
 * The same in slices, between which other work runs. `bytes` must not change meanwhile. @throws also the signal's
 * StatusError or 504 once it aborts
 */
export function decodeJsonInTurns(bytes: Buffer, signal?: AbortSignal): Promise<DecodeResult> {
  return runInTurns(decoding(bytes), { signal });
}

/** Each synchronous step of the engine is one slice. */
function* decoding(bytes: Buffer): SlicedWork<DecodeResult> {
  const text = decodeUtf8(bytes);
  yield;
  const strings = countStrings(bytes);
  if (typeof strings !== 'number') throw strings === 'too deep' ? newTooDeep() : newTooManyValues();
  yield;
  const value = parse(text);
  yield;
  return examine(bytes, text, strings, value);
}

/** The same for a body that may not be JSON: undefined if it is not JSON, or too deep or too large to check cheaply. */
export function decodeIfJson(bytes: Buffer, text: string): DecodeResult | undefined {
  const strings = countStrings(bytes);
  if (typeof strings !== 'number') return undefined;
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  return examine(bytes, text, strings, value);
}

function examine(bytes: Buffer, text: string, strings: number, value: JsonValue): DecodeResult {
  // Only escapes can produce characters that UTF-8 and JSON forbid.
  const inspection = new Inspection(bytes.includes('\\u'));
  // A sentinel, so that a bare -0 or a bare string is treated like any other member.
  const root = [value];
  inspection.visit(root);
  // Each duplicate key loses at least one string from the value: the key itself.
  const clean = !inspection.suspicious && strings === inspection.strings;
  return { value: root[0]!, ...(clean ? { duplicates: [], dropped: [] } : new JsonScanner(text).scan()) };
}

/** @throws StatusError 400 for bytes that are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw newBadRequest('the body of the request is not valid UTF-8');
  const start = bytes.length >= 3 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return bytes.toString('utf8', start);
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    // The engine's message has the position and a few characters of the body, perhaps cut within a surrogate pair.
    const reason = error instanceof SyntaxError ? error.message.slice(0, 160) : 'it could not be parsed';
    throw newBadRequest(
      `the body of the request is not valid JSON: ${reason.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, '\uFFFD')}`,
    );
  }
}

/**
 * Counts strings and keys before the bytes are known to be JSON. Depth and number of values are checked before parsing:
 * the engine takes half a second for a million brackets, and later steps take longer.
 */
function countStrings(bytes: Buffer): number | 'too deep' | 'too many' {
  let strings = 0;
  let others = 0;
  let depth = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]!;
    if (byte === 0x22) {
      strings += 1;
      for (i += 1; i < bytes.length && bytes[i] !== 0x22; i += 1) if (bytes[i] === 0x5c) i += 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      others += 1;
      depth += 1;
      if (depth > maxJsonDepth) return 'too deep';
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (isLiteralPart(byte)) {
      others += 1;
      while (i + 1 < bytes.length && isLiteralPart(bytes[i + 1]!)) i += 1;
    }
    if (strings + others > maxJsonValues) return 'too many';
  }
  return strings;
}

/** Whether the byte is part of a number, `true`, `false` or `null`: a digit, sign, point or letter. */
function isLiteralPart(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d ||
    byte === 0x2e ||
    byte === 0x2b ||
    byte === 0x45
  );
}

/**
 * One walk over the parsed value, cheap enough for every body. It only detects that something is wrong; the scanner
 * then finds the place in the text.
 */
class Inspection {
  strings = 0;
  suspicious = false;
  readonly #checkTexts: boolean;

  constructor(checkTexts: boolean) {
    this.#checkTexts = checkTexts;
  }

  /** Recursive: the depth is already checked. */
  visit(container: object): void {
    if (Array.isArray(container)) {
      for (let i = 0; i < container.length; i += 1) this.#visitMember(container, i);
      return;
    }
    for (const key of Object.keys(container)) {
      this.#visitText(key);
      this.#visitMember(container as Record<string, JsonValue>, key);
      if (isPrototypeKey(key)) {
        this.suspicious = true;
        delete (container as Record<string, JsonValue>)[key];
      }
    }
  }

  #visitMember<K extends string | number>(container: Record<K, JsonValue>, key: K): void {
    const value = container[key];
    if (typeof value === 'string') this.#visitText(value);
    else if (typeof value === 'number') {
      if (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) this.suspicious = true;
      else if (Object.is(value, -0)) container[key] = 0;
    } else if (typeof value === 'object' && value !== null) this.visit(value);
  }

  #visitText(text: string): void {
    this.strings += 1;
    if (this.#checkTexts && textViolation(text) !== undefined) this.suspicious = true;
  }
}
