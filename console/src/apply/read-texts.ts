import type { JsonObject, JsonValue } from '@svc/client';
import { TextFault } from '../editor/yaml-text.ts';
import { pauseForPage } from '../interface/pause-for-page.ts';
import { readText } from '../object/editable-text.ts';
import { texts } from '../texts/texts.ts';

/** Longer texts are read document by document, so that the page answers meanwhile. */
export const longText = 256 * 1024;

/**
 * All objects of texts that are YAML, JSON, or JSON lines.
 * @throws TextFault with the place of the fault
 */
export async function readTexts(all: readonly string[]): Promise<JsonObject[]> {
  const pause = pauseForPage();
  const found: JsonObject[] = [];
  for (const text of all) {
    for (const objects of objectsOf(text)) {
      for (const object of objects) found.push(object);
      await pause();
    }
  }
  return found;
}

function objectsOf(given: string): Iterable<readonly JsonObject[]> {
  // Files of Windows begin with a byte order mark, also in the middle of what is pasted from several.
  const text = given.replaceAll(/^\uFEFF/gm, '');
  if (isJsonLines(text)) return objectsOfLines(text);
  return text.length > longText ? objectsOfDocuments(text) : [readText(text)];
}

/** Two lines that begin an object each are no YAML. */
function isJsonLines(text: string): boolean {
  return /^\s*\{[^\n]*\}[^\S\n]*\n\s*\{/.test(text);
}

function* objectsOfLines(text: string): Generator<readonly JsonObject[]> {
  let at = 0;
  for (const line of partsOf(text, /\n/g)) {
    at += 1;
    if (line.trim() !== '') yield [readLine(line, at)];
  }
}

function readLine(line: string, at: number): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(line) as JsonValue;
  } catch (error) {
    throw new TextFault(texts.apply.line(at, error instanceof Error ? error.message : ''), { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TextFault(texts.apply.line(at, texts.editor.notObject));
  return value;
}

/** A line that begins with `---` begins a document, wherever it is. Source: YAML 1.2.2, 9.1.2. */
function* objectsOfDocuments(text: string): Generator<readonly JsonObject[]> {
  let at = 0;
  for (const part of partsOf(text, /^---(?=\s|$)/gm)) {
    if (part.trim() === '') continue;
    at += 1;
    try {
      yield readText(part);
    } catch (error) {
      if (error instanceof TextFault)
        throw new TextFault(`${texts.apply.document(at)}: ${error.message}`, { cause: error });
      throw error;
    }
  }
}

function* partsOf(text: string, separator: RegExp): Generator<string> {
  let from = 0;
  for (const { index, 0: found } of text.matchAll(separator)) {
    yield text.slice(from, index);
    from = index + found.length;
  }
  yield text.slice(from);
}
